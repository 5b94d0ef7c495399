"""Both verdicts on a situation, what they are compared by, and the page that tells them."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Literal

from packager import catalog
from packager.audit import audit
from packager.inference import Asks
from packager.model import Frozen
from packager.rules.core import Severity
from tests.lab.boards import HERE, Board, probe
from tests.lab.bundles import Bundle
from tests.lab.releases import ABI, Shelf
from tests.lab.situations import SITUATIONS, Situation

RECORDED = HERE / "recorded.json"
EXPLAINED = HERE / "explained.toml"
PAGE = HERE.parents[1] / "docs" / "verdicts.md"

ACCEPTED = "accepted"
# These the backend logs about every context, sound ones included.
CHATTER = ("SetBufName",)
LONGEST = 120  # of the words in a cell

Comparison = Literal["agree", "hexpack is stricter", "hexpack does not see it"]


class Verdict(Frozen):
    """What the real library and hexpack said. `code` is None where the process or the loader failed.

    `words` is the log line that matters; `errors` and `warnings` are hexpack's rules.
    """

    group: str
    name: str
    step: str
    code: int | None
    words: str
    errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def compared(self) -> Comparison:
        """hexpack refuses by an error; a warning stops no package."""
        accepted = self.step == ACCEPTED
        if accepted == (not self.errors):
            return "agree"
        return "hexpack is stricter" if accepted else "hexpack does not see it"


def judge(situation: Situation, shelf: Shelf) -> Verdict:
    """Make the situation, and let both judge it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        context = shelf.context(*situation.context)
        bundle = Bundle.sound(folder / "bundle", shelf, situation.release, situation.board, context)
        situation.spoil(bundle)
        step, code, words = _library(situation, bundle, shelf, folder)
        asks = Asks(socs=(catalog.soc(situation.board.soc),), abi=catalog.abi(ABI))
        findings = [finding for one in audit(bundle.root, asks).sets for finding in one.findings]
    return Verdict(
        group=situation.group,
        name=situation.name,
        step=step,
        code=code,
        words=words,
        errors=_rules(finding.rule for finding in findings if finding.refuses),
        warnings=_rules(finding.rule for finding in findings if finding.severity is Severity.WARNING),
    )


def _rules(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(found)))


def _library(situation: Situation, bundle: Bundle, shelf: Shelf, folder: Path) -> tuple[str, int | None, str]:
    """(step, code, words) of the real library."""
    board = Board(folder / "board", situation.board, shelf.store, dsp=situation.dsp, soc_id=situation.soc_id)
    dsp = str(bundle.root / "dsp")
    environment = {"ADSP_LIBRARY_PATH": dsp, "DSP_LIBRARY_PATH": dsp}
    ran = board.run(probe(shelf.store), bundle.root, environment=environment)
    if ran.returncode:
        return "crash", None, f"the process ended with {ran.returncode}"
    said = json.loads(ran.stdout)
    if said["reason"]:
        return said["step"], None, said["reason"].replace(f"{bundle.root}/", "")
    return said["step"], said["code"], _telling(said["log"]).replace(f"{bundle.root}/", "")


def _telling(lines: Sequence[str]) -> str:
    """The first line that is not said about sound bundles too, without its level."""
    telling = [line for line in lines if not any(word in line for word in CHATTER)]
    return telling[0].strip().removeprefix("<E>").strip() if telling else ""


# ---- records and explanations ----


class Explanation(Frozen):
    """Why hexpack and the library disagree about some situations, and why that is right."""

    situations: tuple[str, ...]
    comparison: Comparison
    reason: str


def explanations() -> tuple[Explanation, ...]:
    """The rows of `explained.toml`."""
    rows = tomllib.loads(EXPLAINED.read_text())["explained"]
    return tuple(Explanation.model_validate(row) for row in rows)


def explained() -> dict[str, Explanation]:
    """The explanation of each situation that has one, by its name."""
    return {name: one for one in explanations() for name in one.situations}


def recorded() -> dict[str, Verdict]:
    """What was found when the page was made, by the situations' names."""
    rows = json.loads(RECORDED.read_text())
    return {row["name"]: Verdict.model_validate(row) for row in rows}


def record(verdicts: Sequence[Verdict]) -> None:
    """Write the record and the page."""
    rows = [verdict.model_dump(mode="json") for verdict in verdicts]
    RECORDED.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(markdown({verdict.name: verdict for verdict in verdicts}))


def unexplained(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Disagreements without a reason, and reasons for a disagreement that is none."""
    reasons = explained()
    faults = []
    for name, verdict in verdicts.items():
        reason = reasons.get(name)
        if verdict.compared != (reason.comparison if reason else "agree"):
            faults.append(
                f"{name}: {verdict.compared}, explained as {reason.comparison if reason else 'nothing'}"
            )
    return faults


# ---- the page ----

_HEAD = """\
# What the real libraries say

Generated by `python -m tests.lab`, which takes about two minutes on two processors.

The vendor's libraries for Linux on Arm run under qemu, in a file system as a board has it. They load each of these
bundles, open the device and open the context; hexpack audits the same files. Both accept or both refuse, else the
difference is explained at the end. `tests/integration/test_verdicts.py` repeats a part of the table and fails on a
difference without explanation.

There is no DSP: `tests/lab/dsp_stand_in.c` answers in place of FastRPC. It looks for the skel along the search path,
refuses what is no ELF file for the Hexagon or for a later Hexagon than the board's, and tells the skel's build id. So
*14001* for a skel is the backend's answer to what the stand-in could not open; everything else is the backend's own.
Nothing is executed here: whether a graph runs on the DSP is not shown.

"""


def markdown(verdicts: Mapping[str, Verdict]) -> str:
    """The page: a table for each kind of situation, then the explanations."""
    ordered = [verdicts[situation.name] for situation in SITUATIONS]
    numbers = {one.situations: number for number, one in enumerate(explanations(), start=1)}
    by_name = {name: number for names, number in numbers.items() for name in names}
    count = {kind: sum(one.compared == kind for one in ordered) for kind in Comparison.__args__}
    summary = ", ".join(f"{kind}: {count[kind]}" for kind in count)
    parts = [_HEAD, f"{len(ordered)} situations; {summary}.\n"]
    for group in dict.fromkeys(one.group for one in ordered):
        parts.append(f"\n## {group[0].upper()}{group[1:]}\n\n")
        parts.append("| situation | real library | its words | hexpack | |\n|---|---|---|---|---|\n")
        parts += [_row(one, by_name.get(one.name)) for one in ordered if one.group == group]
    parts.append("\n## Differences explained\n\n")
    parts += [
        f"{number}. {one.comparison}: {one.reason}\n" for number, one in enumerate(explanations(), start=1)
    ]
    return "".join(parts)


def _row(verdict: Verdict, number: int | None) -> str:
    real = verdict.step if verdict.code in (None, 0) else f"{verdict.code} from {verdict.step}"
    words = shorten(verdict.words, LONGEST, placeholder=" …").replace("|", "\\|").replace("<", "&lt;")
    errors = ", ".join(verdict.errors) or "accepted"
    warnings = f"; warns {', '.join(verdict.warnings)}" if verdict.warnings else ""
    mark = "agree" if number is None else f"{verdict.compared}, see {number}"
    return f"| {verdict.name} | {real} | {words} | {errors}{warnings} | {mark} |\n"
