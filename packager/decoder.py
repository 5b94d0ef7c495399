"""What an error code from a device log most likely means, in words, from `targets/errors.toml`."""

from __future__ import annotations

import re
from typing import Any, Literal

from packager.catalog import table
from packager.model import Frozen

QNN_MASK = 0xFFFF
FASTRPC_PREFIX = 0x80000000
_WIDEST = 1 << 64  # what a function of QNN returns has 64 bits

Family = Literal["qnn", "fastrpc", "transport"]

# What stands before a number in a log: `transportStatus: 9`, `err: 1003`, `Error 45`.
_LABELLED = re.compile(r"([A-Za-z_]\w*)(?:\s*[:=]\s*|\s+)(\S+)", re.ASCII)
_TRANSPORT = "transportstatus"


class Explanation(Frozen):
    """One decoded code, without the bits that a backend may set above it.

    Where the table knows only the range of the code, `exact` is False, `name` is the range's and there is
    nothing in `look_first`. `rules` are the rules of hexpack that prevent it. `masked` is whether there were
    such bits.
    """

    code: int
    family: Family
    name: str
    exact: bool
    sentence: str
    look_first: tuple[str, ...]
    rules: tuple[str, ...]
    source: str
    masked: bool = False

    @property
    def text(self) -> str:
        """The code as device logs write it: `5005 (0x138d)`, `0x80000406` or `transportStatus 9`."""
        if self.family == "transport":
            return f"transportStatus {self.code}"
        if self.code >= FASTRPC_PREFIX:
            return f"{self.code:#010x}"
        return f"{self.code} ({self.code:#x})"


def explain_code(text: str) -> Explanation | None:
    """Explain a code of QNN or FastRPC as a log prints it; None when nothing is known of it.

    It may be a decimal or `0x` number, with a word in front (`err: 1003`); `transportStatus` and a number; or
    a name, `AEE_EUNABLETOLOAD` or `QNN_CONTEXT_ERROR_CREATE_FROM_BINARY`. FastRPC codes are 0x8000xxxx, or
    small numbers where the CPU's side of it failed; a log may print them signed. A number of more than 16
    bits is what a function of QNN returned, if the low 16 are a code of the table: cut to them, nearly every
    number would fall into one of its ranges.
    """
    words = text.strip()
    labelled = _LABELLED.fullmatch(words)
    label, value = labelled.groups() if labelled else ("", words)
    number = _number(value)
    if number is None:
        return None if label else _named(words)
    if label.lower() == _TRANSPORT:
        return _row("transport", number)
    if number > QNN_MASK:
        return _wide(number)
    if number < 0:
        return _row("error", number & 0xFFFFFFFF) if number >= -FASTRPC_PREFIX else None
    return _row("error", number) or _range(number) or _row("host", number)


def _wide(number: int) -> Explanation | None:
    if number >= _WIDEST:
        return None
    signed = number & 0xFFFFFFFF if number >> 32 == 0xFFFFFFFF else number  # a 32-bit code, widened
    if FASTRPC_PREFIX <= signed <= FASTRPC_PREFIX | QNN_MASK:
        return _row("error", signed)
    code = _row("error", number & QNN_MASK)
    return code and code.model_copy(update={"masked": True})


def why_unknown(text: str) -> str | None:
    """A sentence about a number that is no code of the tables; None for what is no number, or is a code."""
    number = _number(text.strip())
    if number is None or explain_code(text):
        return None
    said = f"{text.strip()} is no code of the tables"
    if number >= _WIDEST or number < -(_WIDEST >> 1):
        return f"{said}: it has more than the 64 bits of what a function returns"
    if number < 0:
        return (
            f"{said}: a log prints codes of FastRPC (0x8000xxxx) as negative numbers below -2147000000;"
            " others only tell that a function failed, and the lines before have the code"
        )
    if FASTRPC_PREFIX <= number <= FASTRPC_PREFIX | QNN_MASK:
        return f"{said}: it has the form of FastRPC's codes of the DSP's side, and is none that was met"
    if number > QNN_MASK:
        low = number & QNN_MASK
        return (
            f"{said}: codes of QNN have 16 bits. They are the low 16 of the 64 bits that a function returns;"
            f" here that is {number:#x} & 0xffff = {low}, which no row has"
        )
    return said if number else f"{said}: it means success"


def _number(text: str) -> int | None:
    word = text.strip().lower().replace("_", "")
    if re.fullmatch(r"0x[0-9a-f]{1,1000}", word):
        return int(word, 16)
    return int(word) if re.fullmatch(r"-?[0-9]{1,1000}", word) else None


def _named(word: str) -> Explanation | None:
    """QNN's own names are those of the table with `QNN_` in front and `ERROR_` behind the family."""
    name = word.upper().removeprefix("QNN_").replace("_ERROR_", "_", 1)
    for kind in ("error", "host"):
        for row in table("errors")[kind]:
            if name in (row["name"].upper(), *row.get("also", ())):
                return _explained(kind, row)
    return None


def _row(kind: str, code: int) -> Explanation | None:
    row = next((row for row in table("errors")[kind] if row["code"] == code), None)
    return row and _explained(kind, row)


def _explained(kind: str, row: dict[str, Any]) -> Explanation:
    family: Family = "transport" if kind == "transport" else "fastrpc"
    if kind == "error" and row["code"] < FASTRPC_PREFIX:
        family = "qnn"
    fields = {key: value for key, value in row.items() if key != "also"}
    return Explanation(family=family, exact=True, **fields)


def _range(code: int) -> Explanation | None:
    row = next((row for row in table("errors")["range"] if row["first"] <= code <= row["last"]), None)
    return row and Explanation(
        code=code,
        family="qnn",
        name=row["name"],
        exact=False,
        sentence=row["sentence"],
        look_first=(),
        rules=(),
        source=row["source"],
    )
