"""What the plan asks of a format's settings."""

from __future__ import annotations

from collections.abc import Callable

from packager.catalog import FormatRow
from packager.manifest_model import Manifest

_Add = Callable[[tuple[str | int, ...], str, str], None]


def refuse_without_settings(manifest: Manifest, row: FormatRow, at: tuple[str | int, ...], add: _Add) -> None:
    """Tell `add` of each setting that packages of this format cannot do without and nobody gave."""
    for need in row.needs:
        table, _, key = need.partition(".")
        settings = getattr(manifest.formats, table)
        if getattr(settings, key) is None:
            (example,) = type(settings).model_fields[key].examples or ("…",)
            add(at, f'"{row.id}" packages need "{key}" in [formats.{table}]', f'add {key} = "{example}"')
