"""Writes numbers in answers."""

from __future__ import annotations

from fractions import Fraction

MAX_PLACES = 10
"""Decimal places shown before an endless fraction is cut."""


def plain(value: Fraction) -> str:
    """Write `value` exactly if it has few decimal places, else rounded after `≈`."""
    if value.denominator == 1:
        return str(value.numerator)
    scaled = value * 10**MAX_PLACES
    mark = "" if scaled.denominator == 1 else "≈ "
    return mark + _decimal(round(scaled), MAX_PLACES)


def rounded(value: Fraction, significant: int = 6) -> str:
    """Write `value` with so many significant digits, without trailing zeros."""
    if value.denominator == 1:
        return str(value.numerator)
    places = significant
    while abs(value) * 10**places < 10 ** (significant - 1) and places < 15:
        places += 1
    while places > 0 and abs(value) * 10**places >= 10**significant:
        places -= 1
    return _decimal(round(value * 10**places), places)


def _decimal(scaled: int, places: int) -> str:
    digits = str(abs(scaled)).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    sign = "-" if scaled < 0 else ""
    part = part.rstrip("0")
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"
