"""Every way in which hexpack stops, one class per exit code.

A message has three parts, because a person in front of a red build asks three questions: what went
wrong, how do you know, what do I do now. Exit codes are a contract with CI scripts and never change
their meaning: 0 done, 1 a rule refused, 2 usage or manifest, 3 an input could not be had, 4 a compiler
or tool failed, 5 verification failed, 70 a defect of hexpack.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Literal

from packager.visible import visible


class HexpackError(Exception):
    """Base of all errors that a user can cause and mend. `what` is a sentence without a full stop."""

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, *, evidence: Iterable[str] = (), fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.evidence = tuple(evidence)
        self.fix = fix

    def render(self) -> str:
        """The message as a person reads it, several lines, no trailing newline."""
        lines = [f"error: {self.what}"]
        lines += [f"  {line}" for block in self.evidence for line in block.splitlines()]
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(map(visible, lines))

    def document(self) -> dict[str, object]:
        """The message for programs: what `--json` prints in place of a result."""
        error = {"exit_code": self.exit_code, "what": self.what, "evidence": self.evidence, "fix": self.fix}
        return {"schema_version": 1, "error": error}

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process boundaries (parallel compiles); the default reduce loses keyword arguments.
        return _rebuild, (type(self), self.what, self.evidence, self.fix)


def _rebuild(kind: type[HexpackError], what: str, evidence: tuple[str, ...], fix: str) -> HexpackError:
    return kind(what, evidence=evidence, fix=fix)


class RuleRefused(HexpackError):
    """At least one finding of severity error is not allowed by the manifest."""

    exit_code = 1


class ManifestError(HexpackError):
    """The command line or the manifest says something that cannot be understood."""

    exit_code = 2


class InputUnavailable(HexpackError):
    """A file, wheel or download that the manifest names could not be had, or is not what was pinned."""

    exit_code = 3


class ToolFailed(HexpackError):
    """A compiler or an external tool failed, or its result is not what was asked for."""

    exit_code = 4


class VerificationFailed(HexpackError):
    """A finished package does not contain what it must contain."""

    exit_code = 5


# Why a file could not be read to its end. `unsafe`: unpacking it would do harm; `repeated`: its archive has
# another file of that name; `unreadable` and `closed`: a file or folder that the user may not read.
Fault = Literal["damaged", "encrypted", "unsafe", "repeated", "unreadable", "closed"]


class UnreadableFile(InputUnavailable):
    """A file stops making sense at `offset` (bytes from its start) for `reason`."""

    def __init__(self, path: Path | str, offset: int, reason: str, fault: Fault = "damaged") -> None:
        super().__init__(
            f"{path} is damaged or not what its content claims",
            evidence=(f"at byte {offset} (0x{offset:x}): {reason}",),
            fix="fetch or build the file again, and compare its size and sha256 with the original",
        )
        self.path, self.offset, self.reason, self.fault = path, offset, reason, fault

    def __reduce__(self) -> tuple[object, ...]:
        return UnreadableFile, (self.path, self.offset, self.reason, self.fault)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The word a person most likely meant, or None when nothing is close.

    Swapped letters are the commonest slip in part numbers (`qcs6940`), so a word of the same letters
    wins over one that differs by a letter.
    """
    wanted = _folded(word)
    by_folded = {_folded(candidate): candidate for candidate in reversed(list(known))}
    close = difflib.get_close_matches(wanted, by_folded, n=8, cutoff=0.6)
    if not close:
        return None
    swapped = [candidate for candidate in close if sorted(candidate) == sorted(wanted)]
    return by_folded[(swapped or close)[0]]


def _folded(word: str) -> str:
    return word.lower().replace("_", "-")
