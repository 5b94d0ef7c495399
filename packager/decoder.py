"""What an error code from a device log most likely means, in words, from `targets/errors.toml`."""

from __future__ import annotations

import re
from typing import Literal

from packager.catalog import table
from packager.model import Frozen

QNN_MASK = 0xFFFF
FASTRPC_PREFIX = 0x80000000


class Explanation(Frozen):
    """One decoded code, without the bits that a backend may set above it.

    Where the table knows only the range of the code, `exact` is False, `name` is the range's and there is
    nothing in `look_first`. `rules` are the rules of hexpack that prevent it.
    """

    code: int
    family: Literal["qnn", "fastrpc"]
    name: str
    exact: bool
    sentence: str
    look_first: tuple[str, ...]
    rules: tuple[str, ...]
    source: str

    @property
    def text(self) -> str:
        """The code as device logs write it: `5005 (0x138d)` or `0x80000406`."""
        return f"{self.code} ({self.code:#x})" if self.family == "qnn" else f"{self.code:#010x}"


def explain_code(text: str) -> Explanation | None:
    """Explain a decimal or `0x` code of QNN or FastRPC; None when it is no code or nothing is known of it.

    QNN codes are the low 16 bits of what the interface returned; FastRPC codes are 0x8000xxxx. Negative
    decimals are FastRPC codes that a log printed as signed.
    """
    number = _number(text)
    if number is None:
        return None
    if FASTRPC_PREFIX <= number <= FASTRPC_PREFIX | QNN_MASK:
        return _row(number, "fastrpc")
    code = number & QNN_MASK
    return _row(code, "qnn") or _range(code)


def _number(text: str) -> int | None:
    word = text.strip().lower().replace("_", "")
    if re.fullmatch(r"0x[0-9a-f]{1,16}", word):
        return int(word, 16)
    if re.fullmatch(r"[0-9]{1,20}", word):
        return int(word)
    if re.fullmatch(r"-[0-9]{1,10}", word):
        return int(word) & 0xFFFFFFFF
    return None


def _row(code: int, family: Literal["qnn", "fastrpc"]) -> Explanation | None:
    row = next((row for row in table("errors")["error"] if row["code"] == code), None)
    return row and Explanation(family=family, exact=True, **row)


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
