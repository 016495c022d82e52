"""Formats numbers and messages for pages. Unknown is never zero."""

from __future__ import annotations

from django.utils.translation import gettext

from apps.engine.usage import Cost

MICROS = 1_000_000
SMALLEST_SHOWN_MICROS = 100
"""$0.0001; less than that but not nothing reads as `<$0.0001`."""


def money(micros: int) -> str:
    """Return micro-dollars as dollars with the digits that matter."""
    if not micros:
        return "$0"
    if 0 < micros < SMALLEST_SHOWN_MICROS:
        return "<$0.0001"
    digits = 4 if micros < 10 * MICROS else 2
    return f"${micros / MICROS:,.{digits}f}"


def cost(value: Cost) -> str:
    """Return a sum of money; a sum with an unknown part is a lower bound."""
    if not value.has_unknown:
        return money(value.micros)
    unknown = gettext("unknown")
    return f"≥ {money(value.micros)} + {unknown}" if value.micros else unknown


def count(value: int) -> str:
    """Return a whole number with thousands separators."""
    return f"{value:,}"


def size(byte_count: int, *, rounds_up: bool = False) -> str:
    """Return a number of bytes in the largest fitting unit, with two digits at most.

    `rounds_up`: what is just above a limit must not read like the limit.
    """
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if byte_count >= factor:
            scaled = byte_count * 100
            hundredths = -(-scaled // factor) if rounds_up else scaled // factor
            return f"{hundredths / 100:,.2f}".rstrip("0").rstrip(".") + f" {unit}"
    return f"{byte_count} bytes"


def duration(milliseconds: int | None) -> str:
    """Return a time span in the largest fitting unit, or a dash if there is none."""
    if milliseconds is None:
        return "–"
    if milliseconds < 100:
        return f"{milliseconds} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def sentence(message: str) -> str:
    """Return the message of an error as a sentence."""
    said = message[:1].upper() + message[1:]
    return said if said.endswith((".", "!", "?")) else f"{said}."
