"""An audit for a person: what was found and what it is for, then what is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from packager.audit import Audit, AuditedFile, AuditedSet
from packager.bundle import DSP_LIBRARY, MODEL_LIBRARY, SUPPORT
from packager.catalog import systems
from packager.report import add, counted, finding_list, say, show, table
from packager.rules.reading import vendor_roles
from packager.visible import visible


def print_audit(audit: Audit) -> None:
    """Print each set of an audit with its findings, and the verdict."""
    for one in audit.sets:
        say(f"{visible(one.label)}: {counted(one.findings) if audit.judged else 'nothing to judge'}")
        _print_set(one)
        if one.findings:
            say(finding_list(one.findings))
        say()
    findings = [finding for one in audit.sets for finding in one.findings]
    verdict = counted(findings) if audit.judged else "nothing in it is for a Qualcomm NPU: nothing was judged"
    say(f"{visible(audit.path)}: {verdict}")


def _print_set(one: AuditedSet) -> None:
    rows = table("fact", "value")
    rows.show_header = False
    with_libraries = any(file.role in vendor_roles() for file in one.files)
    if with_libraries:
        add(rows, "  system", f"{systems()[one.system].name}, {one.abi}")
        add(rows, "  QAIRT", one.release or "no library names its release")
    if one.socs:
        add(rows, "  for", ", ".join(one.socs))
    add(rows, "  judged", _roles(file for file in one.files if file.judged) or "nothing")
    if besides := sum(not file.judged for file in one.files):
        add(rows, "  besides", f"{besides} of {len(one.files)} files: documents, and libraries of others")
    show(rows)


def _roles(files: Iterable[AuditedFile]) -> str:
    found = Counter(file.role for file in files)
    order = [*vendor_roles(), SUPPORT, DSP_LIBRARY, MODEL_LIBRARY]
    ranked = sorted(found, key=lambda role: (order.index(role) if role in order else len(order), role))
    return ", ".join(f"{role} {found[role]}" if found[role] > 1 else role for role in ranked)
