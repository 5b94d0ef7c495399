"""Amounts as people read them."""

from __future__ import annotations


def human_size(size: int) -> str:
    """Bytes for people: 935 B, 1.2 MB."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.2f} GB"
