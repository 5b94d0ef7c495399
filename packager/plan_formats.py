"""What the plan asks of a format's settings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from packager import catalog
from packager.catalog import FormatRow, Soc
from packager.manifest_model import Manifest, Target

_Add = Callable[[tuple[str | int, ...], str, str], None]
_Location = tuple[str | int, ...]
_MACHINES = "machines"
_BOARD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # a name in libconfig's grammar


def refuse_without_settings(
    manifest: Manifest, target: Target, socs: Sequence[Soc], row: FormatRow, at: _Location, add: _Add
) -> None:
    """Tell `add` of each setting that packages of this format cannot do without and nobody gave."""
    for need in row.needs:
        if need == _MACHINES:
            _refuse_without_machines(manifest, socs, row, at, add)
            continue
        table, _, key = need.partition(".")
        settings = getattr(manifest.formats, table)
        if getattr(settings, key) is None:
            (example,) = type(settings).model_fields[key].examples or ("…",)
            words = json.dumps(example, ensure_ascii=False)
            add(at, f'"{row.id}" packages need "{key}" in [formats.{table}]', f"add {key} = {words}")
    if row.id == "yocto" and manifest.formats.yocto.url and "tar.gz" not in target.formats:
        add(
            at,
            'the recipe would fetch a tar.gz package, because [formats.yocto] has "url"',
            'add "tar.gz" to the formats of this target, or remove url',
        )


def refuse_unknown_machines(manifest: Manifest, add: _Add) -> None:
    """Tell `add` of names in [formats.machines] that no SoC has: they would have no effect."""
    for word in manifest.formats.machines:
        if word not in {soc.id for soc in catalog.socs()}:
            add(("formats", _MACHINES, word), f'no SoC has the id "{word}"', "`hexpack socs` lists the ids")


def _refuse_without_machines(
    manifest: Manifest, socs: Sequence[Soc], row: FormatRow, at: _Location, add: _Add
) -> None:
    named = [name for soc in socs for name in manifest.formats.machines.get(soc.id, ())]
    if row.id == "rauc" and len(set(named)) > 1:
        add(
            at,
            f"a RAUC bundle fits boards of one name, and these are {', '.join(named)}",
            "give each board a target of its own, or all of them one name",
        )
    for name in named if row.id == "swu" else ():
        if not _BOARD.fullmatch(name):
            add(
                at,
                f'sw-description cannot name the board "{name}"',
                "SWUpdate takes letters, digits, - and _, first a letter",
            )
    for soc in socs:
        if soc.id not in manifest.formats.machines:
            add(
                at,
                f'"{row.id}" packages need to know what boards with {soc.title} are called',
                f'add {soc.id} = ["name-of-the-machine"] to [formats.machines]',
            )
