"""Entries of the ledger as the team's pages show them: names, links, a summary."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from apps.accounts.models import ApiKey, Membership
from apps.audit.browsing.fact_words import summary_of
from apps.audit.browsing.search import FoundEntry
from apps.pools.models import Conductor, Pool, Worker
from apps.runs.models import Run

KINDS = {
    "api_key": _("API key"),
    "user": _("Member"),
    "policy": _("Policy"),
    "legal_hold": _("Legal hold"),
    "share_link": _("Share link"),
    "ledger_export": _("Ledger export"),
    "ab_test": _("A/B test"),
    "shadow_test": _("Shadow test"),
    "conductor_training": _("Training of a conductor"),
    "alert_rule": _("Alert rule"),
}
"""What a type is called, where it is not the word itself."""
ACTORS = (_("User"), _("Api key"), _("Service"), _("Model"))
"""The types of actors as the page of an entry shows them."""
ONLY_ONE = {"team": _("This team"), "policy": _("The policy")}
"""Names of what a team has one of."""
PAGES = {
    "api_key": "console:key_list",
    "user": "console:member_list",
    "invitation": "console:member_list",
    "budget": "console:budget_list",
    "credential": "console:credential_list",
    "policy": "console:policy",
    "team": "console:team",
    "share_link": "console:share_links",
}
"""The page on which things of a type are."""
OWN_PAGES = {
    "run": ("playground:run_detail", "run_id"),
    "pool": ("console:pool", "pool_id"),
    "worker": ("console:worker", "worker_id"),
    "conductor": ("console:conductor", "conductor_id"),
}
"""The page of one thing, and the name of its id there."""
NAMED: Mapping[str, tuple[Any, str, tuple[str, ...]]] = {
    "run": (Run, "id", ("title",)),
    "pool": (Pool, "id", ("name",)),
    "worker": (Worker, "id", ("name",)),
    "conductor": (Conductor, "id", ("name",)),
    "api_key": (ApiKey, "id", ("name",)),
    "user": (Membership, "user_id", ("user__name", "user__email")),
}
"""Where the names of things are; the first that is not empty is shown."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """An entry as the list shows it."""

    entry: FoundEntry
    kind: str
    """What it was done to, in a word."""
    name: str
    """What that is called today, or was then; empty: it has no name."""
    summary: str


def ledger_rows(team_id: uuid.UUID, entries: Sequence[FoundEntry]) -> list[LedgerRow]:
    """Return entries with the names of what they are about."""
    names = _names(team_id, entries)
    return [_row(entry, names) for entry in entries]


def thing_page(team_id: uuid.UUID, entry: FoundEntry) -> str:
    """Return the address of what an entry is about; empty: it is gone, or has none."""
    kind = entry.subject_type
    if kind in OWN_PAGES:
        page, argument = OWN_PAGES[kind]
        model, column, _ = NAMED[kind]
        rows = model.objects.for_team(team_id).filter(**{column: entry.subject_id})
        is_there = rows.exists()
        return reverse(page, kwargs={argument: entry.subject_id}) if is_there else ""
    return reverse(PAGES[kind]) if kind in PAGES else ""


def _row(entry: FoundEntry, names: Mapping[uuid.UUID, str]) -> LedgerRow:
    known = gettext(ONLY_ONE.get(entry.subject_type, ""))
    if entry.subject_id is not None:
        known = names.get(entry.subject_id, known)
    told = entry.data.get("name", "")
    kind = gettext(_kind(entry.subject_type))
    name = known or (told if isinstance(told, str) else "")
    return LedgerRow(entry, kind, name, summary_of(entry.data, gettext))


def _kind(subject_type: str) -> str:
    return KINDS.get(subject_type, subject_type.replace("_", " ").capitalize())


def _names(team_id: uuid.UUID, entries: Iterable[FoundEntry]) -> dict[uuid.UUID, str]:
    """Return the names of the things that are still there: a query for each type."""
    wanted: dict[str, set[uuid.UUID]] = {}
    for entry in entries:
        if entry.subject_id is not None:
            wanted.setdefault(entry.subject_type, set()).add(entry.subject_id)
    names: dict[uuid.UUID, str] = {}
    for kind, ids in wanted.items():
        if kind in NAMED:
            model, column, columns = NAMED[kind]
            rows = model.objects.for_team(team_id).filter(**{f"{column}__in": ids})
            for key, *values in rows.values_list(column, *columns):
                names[key] = next((value for value in values if value), "")
    return names
