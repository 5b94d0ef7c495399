"""Text from outside, made fit for a terminal, a log and a JSON document.

Names on a disk and in archives, and words of a command line, can hold anything. Everything that is printed
goes through here.
"""

from __future__ import annotations

_BYTES = range(0xDC80, 0xDD00)  # how Python carries the bytes of a name that are no text


def visible(text: str) -> str:
    r"""Text that cannot move the cursor, break a line or turn the writing around: `\x1b`, `\u202e`."""
    return text if text.isprintable() else "".join(map(_shown, text))


def visible_lines(text: str) -> str:
    """As `visible`, for text whose lines were made here."""
    return "\n".join(map(visible, text.split("\n")))


def encodable(text: str) -> str:
    r"""Text that UTF-8 can say: a byte of a name that is no text becomes `\xff`, half a letter `\ud800`."""
    if text.isascii():
        return text
    return "".join(_shown(letter) if "\ud800" <= letter <= "\udfff" else letter for letter in text)


def _shown(letter: str) -> str:
    if letter.isprintable():
        return letter
    if ord(letter) in _BYTES:
        return f"\\x{ord(letter) & 0xFF:02x}"
    return letter.encode("unicode_escape").decode("ascii")
