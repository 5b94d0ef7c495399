"""Where bytes come from: the user's files, wheels, the web, registries, and the runtime sets inside them.

Whatever the source, the result is one frozen value that says what the bytes are, where they lie, and
in a person's words where they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from packager.errors import InputUnavailable, nearest
from packager.files import Blob
from packager.model import Frozen
from packager.store import Store

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


class PinFor(Protocol):
    """Gives the sha256 that the lock has for an origin, or None."""

    def __call__(self, origin: str) -> str | None:
        """The pin of an origin."""


class Surroundings(NamedTuple):
    """What every source works with: the manifest's folder, the store, the lock's pins, and the network."""

    base: Path
    store: Store
    pin_for: PinFor
    offline: bool
    tell: Tell


class Source(Protocol):
    """One input and where it comes from. Each kind is a frozen value in a module of its own."""

    def describe(self) -> str:
        """The words by which messages and the lock know it, before it is here."""

    def fetch(self, around: Surroundings) -> Fetched:
        """The bytes, in the store or where the user keeps them, with the origin that the lock records.

        Raises InputUnavailable when they cannot be had or are not those that were pinned.
        """


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


def not_offline(label: str, pinned: str | None, store: Store) -> InputUnavailable:
    """The error for an input that the store has not, in a run that fetches nothing."""
    return InputUnavailable(
        f"{label} is not in the store, and offline nothing is fetched",
        evidence=(f"wanted  sha256 {pinned}" if pinned else "no sha256 is pinned", f"store   {store.root}"),
        fix="run once without --offline",
    )


def not_as_pinned(
    what: str, found: str, pinned: str, *, fix: str, evidence: Iterable[str] = ()
) -> InputUnavailable:
    """The error for an input whose sha256 is not the pinned one."""
    return InputUnavailable(
        f"{what} is not the file that was pinned",
        evidence=(f"found   sha256 {found}", f"wanted  sha256 {pinned}", *evidence),
        fix=fix,
    )
