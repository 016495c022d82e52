"""The fields of the composer that name a preset and the values of its variables."""

from __future__ import annotations

from django.http import QueryDict

from apps.presets.composing import PresetCall
from apps.web.run_addresses import id_of

VARIABLE = "variable-"
"""Before the name of a variable, in the name of its field."""
MOST_DIGITS = 9
"""Of the number of a version."""


def preset_call_in(sent: QueryDict) -> PresetCall | None:
    """Return the preset that a form was sent with; None: none."""
    preset_id = id_of(sent.get("preset", ""))
    if preset_id is None:
        return None
    variables = {
        name.removeprefix(VARIABLE): value.replace("\r\n", "\n")
        for name, value in sent.items()
        if name.startswith(VARIABLE) and isinstance(value, str)
    }
    return PresetCall(
        preset_id, version_number(sent.get("preset_version", "")), variables
    )


def version_number(text: str) -> int | None:
    """Return the number of a version in an address or form; None: it is none."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS
    return int(text) if is_number else None
