"""`docs/rules.md` and `docs/faults.md`, made from the tables that `explain` prints from too."""

from __future__ import annotations

from packager.catalog import table
from packager.rules.core import UNUSED_ALLOW, Severity, all_rules
from packager.rules.table import RuleText, seen_at, texts

_GROUPS = {
    "1": "Libraries and architecture",
    "2": "Operating systems",
    "3": "SoCs and model assets",
    "4": "Configuration",
    "5": "Packages",
    "6": "Supply chain",
}

_HEAD = """\
# Rules

Generated from `targets/rules/` by `packager.rules.page.markdown()`; a test keeps it current.

An error stops the package unless the manifest allows it with a reason; a warning never does. One fault is
meant to give one finding: a damaged file is HEX101's alone, a file for the wrong processor HEX107's, and
only what is left is compared further.

```toml
[[allow]]
rule = "HEX303"
target = "tablet"
reason = "runs on the device since 2024, test report 117"
```
"""


def markdown() -> str:
    """All pages in the order of their ids, as one Markdown document."""
    parts = [_HEAD]
    group = ""
    for rule_id in sorted(texts()):
        if rule_id[3] != group:
            group = rule_id[3]
            parts.append(f"## HEX{group}xx: {_GROUPS[group]}\n")
        parts.append(page(rule_id))
    return "\n".join(parts)


def page(rule_id: str) -> str:
    """One rule's page in Markdown, ending in a newline. Raises KeyError for an unknown id."""
    text = texts()[rule_id]
    lines = [f"### {rule_id}: {text.title}", "", f"*{_kind(rule_id)}*", "", text.explanation.strip()]
    lines += ["", *_list(text), ""]
    return "\n".join(lines)


def _kind(rule_id: str) -> str:
    if rule_id == UNUSED_ALLOW:
        return f"{Severity.WARNING}, judged from the manifest and its findings"
    registered = all_rules()[rule_id]
    return f"{registered.severity}, judged from the {registered.stage}"


def _list(text: RuleText) -> list[str]:
    apart = [f"* tells apart: {'; '.join(one.title for one in text.faults.values())}"] if text.faults else []
    symptom = [f"* on the device: {text.on_device}"] if text.on_device else []
    seen = [f"* seen at: {', '.join(places)}"] if (places := seen_at(text.source)) else []
    return [*apart, *symptom, f"* source: {text.source}", *seen]


_FAULTS_HEAD = """\
# Faults from the field

Generated from `targets/faults.toml` and `targets/rules/` by `packager.rules.page.faults()`; a test keeps it
current.

What people met on devices, and what stands against it: the rules that find it in any package, and how hexpack
works so that its own packages cannot have it. Those under A were met most.

| | fault | rules | in hexpack's own packages |
|---|---|---|---|
"""


def faults() -> str:
    """The table of faults with the rules that answer each, as a Markdown document."""
    rows = (
        (row["id"], row["words"], ", ".join(answers(row["id"])), row.get("by_way_of_making", ""))
        for row in table("faults")["fault"]
    )
    return _FAULTS_HEAD + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def answers(fault: str) -> list[str]:
    """The rules that answer a fault of `targets/faults.toml`."""
    return [rule_id for rule_id, text in sorted(texts().items()) if fault in text.catalogue]
