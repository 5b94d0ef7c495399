"""`docs/rules.md`: a page for every rule, made from the table that `explain` prints from too."""

from __future__ import annotations

from packager.rules.core import UNUSED_ALLOW, Severity, all_rules
from packager.rules.table import RuleText, texts

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
    symptom = [f"* on the device: {text.on_device}"] if text.on_device else []
    return [*symptom, f"* source: {text.source}"]
