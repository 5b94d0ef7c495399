"""What can be wrong with a bundle or a board: each situation is judged by hexpack and by the real libraries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.lab.boards import KINDS, Kind
from tests.lab.bundles import BACKEND, MODEL, SYSTEM, Bundle, skel, stub
from tests.lab.releases import NEWEST, RELEASES

Spoil = Callable[[Bundle], None]


class Situation(NamedTuple):
    """A board, the release of its bundle, and release and SoC of the context in it.

    `dsp` is whether the board has the library that reaches its DSP; `soc_id` replaces what its kernel says.
    """

    group: str
    name: str
    release: str
    board: Kind
    context: tuple[str, str]
    spoil: Spoil
    dsp: bool = True
    soc_id: int = 0


def _nothing(_bundle: Bundle) -> None:
    """The bundle stays as it is."""


def _sound() -> Iterator[Situation]:
    for release in RELEASES:
        yield _on(release, "qcs8550", "a sound bundle")
    for soc in ("qcs6490", "sm8750"):
        yield _on("2.48", soc, "a sound bundle")
    for soc in KINDS:
        if soc != "qcs8550":
            yield _on(NEWEST, soc, "a sound bundle")


def _on(release: str, soc: str, name: str, spoil: Spoil = _nothing, group: str = "sound") -> Situation:
    return Situation(group, f"{name}, {release} on {soc}", release, KINDS[soc], (release, soc), spoil)


def _foreign(group: str, release: str, made_for: str, soc: str) -> Situation:
    kind, other = KINDS[soc], KINDS[made_for]
    name = f"a context for {made_for} (v{other.hexagon}) on {soc} (v{kind.hexagon}), {release}"
    return Situation(group, name, release, kind, (release, made_for), _nothing)


def _of_other_silicon() -> Iterator[Situation]:
    for release, made_for, soc in (
        ("2.48", "sm8750", "qcs8550"),
        (NEWEST, "sm8750", "qcs8550"),
        (NEWEST, "sm8650", "qcs8550"),
        (NEWEST, "sm8850", "sm8750"),
        (NEWEST, "qcs8550", "qcs6490"),
        (NEWEST, "sm8850", "qcs6490"),
    ):
        yield _foreign("a later Hexagon", release, made_for, soc)
    for release, made_for, soc in (
        ("2.48", "qcs8550", "sm8750"),
        (NEWEST, "qcs8550", "sm8750"),
        (NEWEST, "qcs6490", "qcs8550"),
        (NEWEST, "sm8650", "sm8850"),
        (NEWEST, "qcs6490", "sm8850"),
    ):
        yield _foreign("an earlier Hexagon", release, made_for, soc)
    for made_for, soc in (("qcs9075", "qcs8550"), ("qcs8550", "qcs9075"), ("sm8650", "qcs8275")):
        yield _foreign("another SoC of the same Hexagon", NEWEST, made_for, soc)


def _of_other_releases() -> Iterator[Situation]:
    order = list(RELEASES)
    for runtime in order:
        for maker in order:
            if maker != runtime:
                later = order.index(maker) > order.index(runtime)
                group = (
                    "a newer context on an older runtime" if later else "an older context on a newer runtime"
                )
                name = f"a context of {maker} on {runtime}"
                yield Situation(group, name, runtime, KINDS["qcs8550"], (maker, "qcs8550"), _nothing)


# ---- bytes of a file ----


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _without_last(content: bytes) -> bytes:
    return content[:-1]


def _head_only(content: bytes) -> bytes:
    return content[:24]


def _empty(_content: bytes) -> bytes:
    return b""


def _random(content: bytes) -> bytes:
    return random.Random(4).randbytes(len(content))


def _zeros(content: bytes) -> bytes:
    return bytes(len(content))


def _one_more(content: bytes) -> bytes:
    return content + b"\n"


def _headless(content: bytes) -> bytes:
    return bytes(16) + content[16:]


def _first_byte_flipped(content: bytes) -> bytes:
    return bytes([content[0] ^ 0xFF]) + content[1:]


def _pointer(content: bytes) -> bytes:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize {len(content)}\n"
    return text.encode()


def _web_page(_content: bytes) -> bytes:
    return b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n"


def _changed(place: str, spoil: Callable[[bytes], bytes]) -> Spoil:
    return lambda bundle: bundle.change(place, spoil)


def _damaged_contexts() -> Iterator[Situation]:
    for release in RELEASES:
        yield _on(
            release, "qcs8550", "the context is cut in half", _changed(MODEL, _half), "a damaged context"
        )
    for what, spoil in (
        ("has no last byte", _without_last),
        ("has a byte too many", _one_more),
        ("is its first 24 bytes", _head_only),
        ("is empty", _empty),
        ("is random bytes", _random),
        ("is zeros", _zeros),
        ("has a head of zeros", _headless),
        ("has another first byte", _first_byte_flipped),
        ("is a pointer of Git LFS", _pointer),
        ("is a web page", _web_page),
    ):
        yield _on(NEWEST, "qcs8550", f"the context {what}", _changed(MODEL, spoil), "a damaged context")
    yield _on(
        NEWEST,
        "qcs8550",
        "the context is a skel",
        lambda bundle: bundle.take(NEWEST, MODEL, "libQnnHtpV73Skel.so"),
        "a damaged context",
    )
    yield _on("2.48", "qcs8550", "the context is random bytes", _changed(MODEL, _random), "a damaged context")


# ---- files of a bundle ----


def _taken(release: str, place: str, name: str | None = None) -> Spoil:
    return lambda bundle: bundle.take(release, place, name)


def _dropped(place: str) -> Spoil:
    return lambda bundle: bundle.drop(place)


def _moved(place: str, to: str) -> Spoil:
    return lambda bundle: bundle.move(place, to)


def _mixed() -> Iterator[Situation]:
    pairs = (("2.36", "2.40"), ("2.40", "2.36"), ("2.40", "2.48"), ("2.48", NEWEST), (NEWEST, "2.48"))
    for part, place in (("stub", stub(73)), ("skel", skel(73)), ("backend", BACKEND), ("System", SYSTEM)):
        for release, other in pairs:
            name = f"the {part} is of {other}"
            yield _on(release, "qcs8550", name, _taken(other, place), f"a mixed {part}")
    for release, other in ((NEWEST, "2.36"), ("2.36", NEWEST)):
        yield _on(release, "qcs8550", f"the System is of {other}", _taken(other, SYSTEM), "a mixed System")
    for soc in ("qcs6490", "sm8750"):
        place = skel(KINDS[soc].hexagon)
        yield _on(NEWEST, soc, "the skel is of 2.48", _taken("2.48", place), "a mixed skel")

    def both(bundle: Bundle) -> None:
        bundle.take("2.48", stub(73))
        bundle.take("2.48", skel(73))

    yield _on(NEWEST, "qcs8550", "stub and skel are of 2.48", both, "a mixed stub")


def _missing() -> Iterator[Situation]:
    for release in RELEASES:
        for part, place in (("stub", stub(73)), ("skel", skel(73))):
            yield _on(release, "qcs8550", f"the {part} is missing", _dropped(place), "a missing file")
    for part, place in (("backend", BACKEND), ("System library", SYSTEM), ("model", MODEL)):
        yield _on(NEWEST, "qcs8550", f"the {part} is missing", _dropped(place), "a missing file")
    for what, place, to in (
        ("the skel is called libQnnHtpv73Skel.so", skel(73), "dsp/libQnnHtpv73Skel.so"),
        ("the stub is called libQnnHtpV73stub.so", stub(73), "lib/libQnnHtpV73stub.so"),
        ("the backend is called libqnnhtp.so", BACKEND, "lib/libqnnhtp.so"),
        ("the skel is called libQnnHtpV73Skel.so.1", skel(73), "dsp/libQnnHtpV73Skel.so.1"),
        ("the stub lies beside the skel", stub(73), "dsp/libQnnHtpV73Stub.so"),
        ("the skel lies beside the stub", skel(73), "lib/libQnnHtpV73Skel.so"),
    ):
        yield _on(NEWEST, "qcs8550", what, _moved(place, to), "a wrong name or folder")


def _swapped(bundle: Bundle) -> None:
    bundle.take(NEWEST, stub(73), "libQnnHtpV73Skel.so")
    bundle.take(NEWEST, skel(73), "libQnnHtpV73Stub.so")


def _other_pair(bundle: Bundle) -> None:
    for place in (stub, skel):
        bundle.drop(place(73))
        bundle.take(NEWEST, place(75))


def _of_this_machine(bundle: Bundle) -> None:
    import onnxruntime_qnn

    bundle.put(Path(onnxruntime_qnn.__file__).parent / "libQnnHtp.so", BACKEND)


def _wrong_files() -> Iterator[Situation]:
    group = "a wrong library"
    for what, spoil in (
        ("the skel is that of v75", _taken(NEWEST, skel(73), "libQnnHtpV75Skel.so")),
        ("the skel is that of v68", _taken(NEWEST, skel(73), "libQnnHtpV68Skel.so")),
        ("the stub is that of v75", _taken(NEWEST, stub(73), "libQnnHtpV75Stub.so")),
        ("the stub is that of v68", _taken(NEWEST, stub(73), "libQnnHtpV68Stub.so")),
        ("stub and skel have each other's name", _swapped),
        ("stub and skel are those of v75, under their own names", _other_pair),
        ("the backend is the one for x86-64", _of_this_machine),
        ("the backend is the preparer", _taken(NEWEST, BACKEND, "libQnnHtpPrepare.so")),
        ("the backend is the one for the GPU", _taken(NEWEST, BACKEND, "libQnnGpu.so")),
        ("the System library is the backend", _taken(NEWEST, SYSTEM, "libQnnHtp.so")),
    ):
        yield _on(NEWEST, "qcs8550", what, spoil, group)
    for part, place in (
        ("backend", BACKEND),
        ("stub", stub(73)),
        ("skel", skel(73)),
        ("System library", SYSTEM),
    ):
        for what, change in (("is cut in half", _half), ("is zeros", _zeros), ("is empty", _empty)):
            name = f"the {part} {what}"
            yield _on(NEWEST, "qcs8550", name, _changed(place, change), "a damaged library")
    yield _on(
        NEWEST,
        "qcs8550",
        "the skel is a pointer of Git LFS",
        _changed(skel(73), _pointer),
        "a damaged library",
    )


def _more_files() -> Iterator[Situation]:
    group = "more than is needed"

    def preparer(bundle: Bundle) -> None:
        bundle.take(NEWEST, "lib/libQnnHtpPrepare.so")

    def v81(bundle: Bundle) -> None:
        bundle.take(NEWEST, "dsp/libQnnHtpV81Skel.so")

    def second_skel(bundle: Bundle) -> None:
        bundle.take("2.48", "lib/libQnnHtpV73Skel.so")

    def second_stub(bundle: Bundle) -> None:
        bundle.take("2.48", "dsp/libQnnHtpV73Stub.so")

    yield _on(NEWEST, "qcs8550", "the preparer is there too", preparer, group)
    yield _on(NEWEST, "qcs8550", "the skel of v81 is there too", v81, group)
    yield _on(NEWEST, "qcs8550", "a skel of 2.48 lies beside the stub", second_skel, group)
    yield _on(NEWEST, "qcs8550", "a stub of 2.48 lies beside the skel", second_stub, group)


def _boards() -> Iterator[Situation]:
    sound = _on(NEWEST, "qcs8550", "", group="a board that is not as it should be")
    for release in ("2.36", NEWEST):
        yield sound._replace(
            name=f"the board has no libcdsprpc.so, {release} on qcs8550",
            release=release,
            context=(release, "qcs8550"),
            dsp=False,
        )
    for soc_id in (415, 600, 1):
        yield sound._replace(name=f"the kernel says soc_id {soc_id}, {NEWEST}", soc_id=soc_id)


SITUATIONS: tuple[Situation, ...] = (
    *_sound(),
    *_of_other_silicon(),
    *_of_other_releases(),
    *_damaged_contexts(),
    *_mixed(),
    *_missing(),
    *_wrong_files(),
    *_more_files(),
    *_boards(),
)
