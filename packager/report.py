"""What people see on stdout: tables and findings, where they did not ask for JSON.

Only this module, `progress` and `commands/` print. Colour and tables come from rich when a person looks at a
terminal; a log file gets plain lines with the same words.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from packager.rules.core import Finding, Proof, Severity
from packager.units import human_size
from packager.visible import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from packager.report_model import Report

_WIDTH_OF_A_LOG = 1000  # a log never wraps: tools that read it look for whole lines
_MOST_FILES = 20  # of one fault that a person reads; --json has all
_LONGEST_FACT = 1000  # characters of evidence that a person reads; --json has all


def console(*, stderr: bool = False) -> Console:
    """A console that wraps for a terminal and never for a log; `:x:` and `[red]` are text to it."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    return Console(
        stderr=stderr, highlight=False, markup=False, emoji=False,
        no_color=True, width=_WIDTH_OF_A_LOG, soft_wrap=True,
    )  # fmt: skip


def say(text: str = "") -> None:
    """Print lines on stdout, whatever is in them made visible."""
    console().print(visible_lines(text))


def finding_text(finding: Finding, files: Sequence[str] = ()) -> str:
    """A finding as a person reads it: the fault in one line, then evidence and the way out.

    `files` are those that it is about in place of its own, if they are several.
    """
    about = visible(finding.file) if len(files) < 2 else f"each of {len(files)} files"
    lines = [f"{finding.rule}  {about}  {finding.title}"]
    facts = [("found", finding.found), ("wanted", finding.wanted), ("fix", finding.fix)]
    if len(files) > 1:
        lines += [
            f"        {'file' if n == 0 else '':<8}{visible(file)}"
            for n, file in enumerate(files[:_MOST_FILES])
        ]
        lines += [f"                and {len(files) - _MOST_FILES} more"] if len(files) > _MOST_FILES else []
    if finding.allowed is not None:
        facts.append(("allowed", finding.allowed))
    for word, text in facts:
        first, *rest = map(visible, _wrapped(cut(text, _LONGEST_FACT)))
        lines.append(f"        {word:<8}{first}")
        lines += [f"                {line}" for line in rest]
    if finding.on_device:
        lines.append(f"        on the device this is {finding.on_device}")
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 92, break_long_words=False, break_on_hyphens=False) or [""]


def cut(text: str, most: int) -> str:
    """The text, or its beginning and how much of it is left out."""
    return (
        text
        if len(text) <= most
        else f"{text[:most]}… ({len(text) - most} of {len(text)} characters left out)"
    )


def findings_text(findings: Sequence[Finding]) -> str:
    """Findings grouped by target, errors first, each group under its target's name."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.target, []).append(finding)
    blocks = []
    for target, group in groups.items():
        title = f"{visible(target)}: {counted(group)}" if target else counted(group)
        blocks.append(f"{title}\n{finding_list(group)}")
    return "\n\n".join(blocks)


def finding_list(findings: Iterable[Finding]) -> str:
    """Findings one below the other, errors first; those that differ in the file alone are one."""
    ordered = sorted(findings, key=lambda f: (not f.refuses, f.severity != Severity.ERROR, f.rule, f.file))
    alike: dict[Finding, list[Finding]] = {}
    for finding in ordered:
        alike.setdefault(_of_any_file(finding), []).append(finding)
    return "\n".join(
        textwrap.indent(finding_text(same[0] if len(same) == 1 else one, [each.file for each in same]), "  ")
        for one, same in alike.items()
    )


def _of_any_file(finding: Finding) -> Finding:
    """The finding without its file, which its words call what it is in all findings of the kind."""
    name = finding.file.rpartition("/")[2]
    if "." not in name:  # `licence` is a word like any other
        return finding.model_copy(update={"file": ""})
    named = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)")
    words = {key: named.sub("the file", getattr(finding, key)) for key in ("found", "wanted", "fix")}
    return finding.model_copy(update={"file": "", **words})


def counted(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning`, or `no findings`."""
    errors = warnings = accepted = 0
    for finding in findings:
        if finding.allowed is not None:
            accepted += 1
        elif finding.severity is Severity.ERROR:
            errors += 1
        else:
            warnings += 1
    parts = [
        f"{count} {word}{'s' if count != 1 and word != 'allowed' else ''}"
        for count, word in ((errors, "error"), (warnings, "warning"), (accepted, "allowed"))
        if count
    ]
    return ", ".join(parts) or "no findings"


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """An unframed table; `right` names the columns of numbers."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        last = column == columns[-1]
        made.add_column(
            column, justify="right" if column in right else "left", no_wrap=not last, overflow="fold"
        )
    return made


def add(rows: Table, *cells: str) -> None:
    """Add a row of plain text: names from outside hold no markup and cannot control the terminal."""
    from rich.text import Text

    rows.add_row(*(Text(visible(cell)) for cell in cells))


def show(rows: Table) -> None:
    """Print a table; in a log without the padding that rich leaves at the end of lines."""
    out = console()
    with out.capture() as captured:
        out.print(rows)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    sys.stdout.flush()


def print_report(report: Report, *, written: bool) -> None:
    """The outcome of `package` (`written`) or of `check` for a person."""
    if any(t.contexts for t in report.targets):
        _print_contexts(report)
    if any(one.sizes for one in report.targets):
        _print_sizes(report)
    if written and not report.refused:
        packages = table("package", "size", "state", right=("size",))
        for one in report.targets:
            for package in one.packages:
                state = "new" if package.changed else "unchanged"
                add(packages, package.file_name, human_size(package.blob.size), state)
        show(packages)
        say()
        for note in [package.note for one in report.targets for package in one.packages if package.note]:
            say(note)
            say()
    if report.findings:
        say(findings_text(report.findings))
    verdict = "refused: nothing was written" if report.refused else "ok"
    say(f"{report.package} {report.version}: {counted(report.findings)}, {verdict}")


def _print_contexts(report: Report) -> None:
    """Each context, and how close each of its outputs came: a row for each, named where there are several.

    `quantized` is the cosine of the quantized model before it was compiled, `top-1` the share of rows whose
    largest number is in the same place; these columns are there where anything was measured.
    """
    proofs: dict[tuple[str, str], list[Proof]] = {}
    for one in report.targets:
        for proof in one.proofs:
            proofs.setdefault((one.label, proof.soc), []).append(proof)
    every = [proof for found in proofs.values() for proof in found]
    columns: dict[str, tuple[Callable[[Proof], str], bool]] = {
        "output": (lambda proof: proof.output, any(len(found) > 1 for found in proofs.values())),
        "samples": (lambda proof: str(proof.samples), True),
        "cosine": (lambda proof: f"{proof.cosine:.6f}", True),
        "max error": (lambda proof: f"{proof.max_abs:.2e}", True),
        "quantized": (lambda proof: _share(proof.quantized), any(p.quantized is not None for p in every)),
        "top-1": (lambda proof: _share(proof.top1, 3), any(p.top1 is not None for p in every)),
    }
    shown = {name: cell for name, (cell, there) in columns.items() if there}
    right = {"context", "compiled", *shown} - {"output"}
    rows = table("target", "SoC", "context", "compiled", *shown, right=right)
    for one in report.targets:
        for context in one.contexts:
            head = (one.label, context.soc, human_size(context.size), f"{context.seconds:.2f} s")
            found = proofs.get((one.label, context.soc))
            for number, proof in enumerate(found or ()):
                add(rows, *(head if number == 0 else ("",) * 4), *(cell(proof) for cell in shown.values()))
            if not found:
                add(rows, *head, *("-" for _ in shown))
    show(rows)
    say()


def _share(number: float | None, places: int = 6) -> str:
    return "-" if number is None else f"{number:.{places}f}"


def _print_sizes(report: Report) -> None:
    """What takes the space in each target's packages, unpacked; --json tells what was left out too."""
    kinds = list(dict.fromkeys(part.what for one in report.targets if one.sizes for part in one.sizes.parts))
    takes = table("unpacked", "all", *kinds, right=("all", *kinds))
    for one in report.targets:
        if one.sizes:
            found = {part.what: human_size(part.size) for part in one.sizes.parts}
            add(takes, one.label, human_size(one.sizes.total), *(found.get(kind, "-") for kind in kinds))
    show(takes)
    say()
