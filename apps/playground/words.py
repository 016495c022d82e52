"""Words of runs in the language of a page: states, planners, roles, kinds of data.

The record keeps stable English words; here is what people read for them.
"""

from __future__ import annotations

from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.planners.light.exploring import EXPLORED, place_words
from apps.runs.records.round_view import CONTINUATION, REPAIR, RIVAL
from apps.web.script_words import ENGLISH

STATES = {
    "queued": _("Queued"),
    "planning": _("Planning"),
    "approval": _("Waiting for approval"),
    "planned": _("Planned"),
    "kept": _("Answer kept"),
    "running": _("Running"),
    "waiting": _("Waiting"),
    "retrying": _("Retrying"),
    "completed": _("Completed"),
    "failed": _("Failed"),
    "skipped": _("Skipped"),
    "cancelled": _("Cancelled"),
    "stopped": _("Stopped"),
    "rejected": _("Rejected"),
    "unknown": _("Outcome unknown"),
}
PLANNERS = {
    "approver": _("edited by an approver"),
    "fallback": _("fallback plan"),
    "given_plan": _("made before the run"),
    "light": _("by the light planner"),
    "light_cascade": _("by the light planner, then the conductor if need be"),
    EXPLORED: _("by the light planner, exploring"),
    "language_model": _("by a language model"),
    "delegated": _("by the worker"),
    "delegating": _("leaves the plan to a worker"),
    "single_worker": _("one worker, without a plan"),
    "tool_continuation": _("without a new plan"),
}
REASONS = {
    RIVAL: _("asked as well, because the answer was late"),
    REPAIR: _("asked to put its answer into the right form"),
    CONTINUATION: _("went on from what had been sent"),
}
DATA_CLASS_WORDS = {
    "public": _("public"),
    "internal": _("internal"),
    "confidential": _("confidential"),
    "restricted": _("restricted"),
}


def said(word: str) -> str:
    """Return a word that is kept in English in the language of the page."""
    return gettext(word) if word else ""


def lower_in_english(words: str) -> str:
    """Return words for the middle of a sentence, in languages that allow that."""
    return words.lower() if get_language() == ENGLISH else words


def state_word(state: str) -> str:
    """Return a state as people read it."""
    return said(STATES.get(state, state))


def planner_words(planner: str) -> str:
    """Return what made a plan, as people read it."""
    if planner in PLANNERS:
        return gettext(PLANNERS[planner])
    return gettext("by {planner}").format(planner=planner.replace("_", " "))


def reason_words(reason: str) -> str:
    """Return why a step has another call, as people read it; empty: a plain one."""
    return said(REASONS.get(reason, ""))


def class_word(data_class: str) -> str:
    """Return a data class as people read it."""
    return said(DATA_CLASS_WORDS.get(data_class, data_class))


def kind_word(kind: str, count: int) -> str:
    """Return a kind of sensitive data as people read it, for so many of them."""
    words = {
        "secret": ngettext("password or key", "passwords or keys", count),
        "card": ngettext("card number", "card numbers", count),
        "iban": ngettext("IBAN", "IBANs", count),
        "tax_number": ngettext("tax number", "tax numbers", count),
        "email": ngettext("email address", "email addresses", count),
        "phone": ngettext("phone number", "phone numbers", count),
    }
    return words.get(kind, kind)


def place_word(rank: int) -> str:
    """Return a place in an order: 2nd in English, its number in other languages."""
    return place_words(rank) if get_language() == ENGLISH else str(rank)
