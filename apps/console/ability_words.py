"""Words for the abilities of workers, in forms, lists and results of tests.

An ability is an attribute that a test finds out, see `ABILITIES` in
`apps/pools/attributes.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.pools.attributes import WorkerAttributes

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


@dataclass(frozen=True, slots=True)
class AbilityWords:
    """The words for one ability."""

    label: StrOrPromise
    """In the form."""
    help_text: StrOrPromise
    name: StrOrPromise
    """In front of its state."""
    if_set: StrOrPromise = ""
    """In lists, of a worker that is set to have it. Empty: most are."""
    if_unset: StrOrPromise = ""
    """In lists, of a worker that is not. Empty: most are not."""


ABILITY_WORDS: Mapping[str, AbilityWords] = {
    "accepts_images": AbilityWords(
        label=_("Takes images"),
        help_text=_("Requests with images only go to these workers."),
        name=_("Images"),
        if_set=_("takes images"),
    ),
    "accepts_tools": AbilityWords(
        label=_("Takes tools"),
        help_text=_(
            "Can ask for the functions a program offers. Without it, it answers "
            "no request that brings some."
        ),
        name=_("Tools"),
        if_unset=_("no tools"),
    ),
    "accepts_prefill": AbilityWords(
        label=_("Continues a partial answer"),
        help_text=_(
            "Takes over in the middle of an answer and goes on from there. "
            "Servers of vLLM can; many providers refuse."
        ),
        name=_("Continuation"),
        if_set=_("continues answers"),
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
