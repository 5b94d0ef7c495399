"""Where bytes come from: the user's files, wheels, and the runtime sets inside them.

Whatever the source, the result is one frozen value that says what the bytes are, where they lie, and
in a person's words where they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from packager.errors import InputUnavailable, nearest
from packager.files import Blob
from packager.model import Frozen

Tell = Callable[[str], None]


class Fetched(Frozen):
    """An input that is here. `blob` is what it was when it was hashed.

    `origin` is the same on every machine: `path cls.onnx`, `wheel rapidocr-onnxruntime==1.4.4`, or
    `wheel onnxruntime-qnn==2.7.0 (win_arm64): onnxruntime_qnn/QnnHtp.dll`. `name` is the file's own
    name. `within` is the wheel that the file was taken out of.
    """

    path: Path
    blob: Blob
    origin: str
    name: str
    within: Fetched | None = None


def silent(_message: str) -> None:
    """The listener of those who want no progress messages."""


def nearest_lines(wanted: str, there: Iterable[str]) -> tuple[str, ...]:
    """Evidence about a missing name: what is there that a person may have meant."""
    names = sorted(set(there))
    close = nearest(wanted, names)
    if close:
        return (f'nearest: "{close}"',)
    if not names:
        return ("nothing is there",)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (f"there: {', '.join(names[:5])}{more}",)


def not_as_pinned(
    what: str, found: str, pinned: str, *, fix: str, evidence: Iterable[str] = ()
) -> InputUnavailable:
    """The error for an input whose sha256 is not the pinned one."""
    return InputUnavailable(
        f"{what} is not the file that was pinned",
        evidence=(f"found   sha256 {found}", f"wanted  sha256 {pinned}", *evidence),
        fix=fix,
    )
