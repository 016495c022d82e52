"""Words for the abilities of workers, in forms, lists and results of tests.

An ability is an attribute that a test finds out, see `ABILITIES` in
`apps/pools/attributes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django import forms

from apps.pools.attributes import WorkerAttributes


@dataclass(frozen=True, slots=True)
class AbilityWords:
    """The words for one ability."""

    label: str
    """In the form."""
    help_text: str
    has: str
    """Of a worker that has it."""
    lacks: str
    """Of a worker without it."""
    if_set: str = ""
    """In lists, of a worker that is set to have it. Empty: most are."""
    if_unset: str = ""
    """In lists, of a worker that is not. Empty: most are not."""


ABILITY_WORDS: Mapping[str, AbilityWords] = {
    "accepts_images": AbilityWords(
        label="Takes images",
        help_text="Requests with images only go to these workers.",
        has="takes images",
        lacks="takes no images",
        if_set="takes images",
    ),
    "accepts_tools": AbilityWords(
        label="Takes tools",
        help_text="Can ask for the functions a program offers. Without it, it answers "
        "no request that brings some.",
        has="takes tools",
        lacks="takes no tools",
        if_unset="no tools",
    ),
    "accepts_prefill": AbilityWords(
        label="Continues a partial answer",
        help_text="Takes over in the middle of an answer and goes on from there. "
        "Servers of vLLM can; many providers refuse.",
        has="continues answers",
        lacks="does not continue answers",
        if_set="continues answers",
    ),
}
"""By the name of the attribute, in the order of the pages."""


def ability_fields() -> dict[str, forms.BooleanField]:
    """Return the fields in which a person says what a worker can do."""
    return {
        name: forms.BooleanField(
            label=words.label,
            help_text=words.help_text,
            required=False,
            initial=WorkerAttributes.model_fields[name].default,
        )
        for name, words in ABILITY_WORDS.items()
    }
