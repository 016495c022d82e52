"""Dollars as people write them, micro-dollars as the product counts them. Exact."""

from __future__ import annotations

import re

MICROS = 1_000_000
"""Micro-dollars in a dollar."""
_USD = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?")


def usd_text(micros: int) -> str:
    """Return micro-dollars as dollars: cents, and what lies beyond them if anything."""
    sign = "-" if micros < 0 else ""
    dollars, rest = divmod(abs(micros), MICROS)
    digits = f"{rest:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}{dollars}.{digits}"


def micros_of_usd(text: str) -> int | None:
    """Return dollars like `0.05` as micro-dollars; None if it is no such text."""
    found = _USD.fullmatch(text.strip())
    if found is None:
        return None
    return int(found[1]) * MICROS + int((found[2] or "").ljust(6, "0"))
