"""Where an operator begins: what needs attention, what can be done, and all records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db import models
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.web.site.operations import site_warnings

PAGES = (
    ("site_operations", "Operations", "Processes, waiting runs, workers, ledger."),
    ("site_policy", "Site policy", "Rules that bind the runs of all teams."),
    ("site_suspensions", "Stop runs", "Stop all runs of the site or of a team."),
    ("site_ledger", "Ledger", "The entries of every team, as they were hashed."),
    ("site_settings", "Settings", "What is set, and by which variable."),
)
FOR_SUPERUSERS = frozenset({"site_operations", "site_policy", "site_suspensions"})
RECORDS = (
    (
        "People",
        (
            ("User", "Users", "Create people, switch them off, remove second factors."),
            ("Team", "Teams", "All teams."),
            ("Membership", "Memberships", "Who is in which team, with which role."),
            ("Invitation", "Invitations", "Who is invited, and until when."),
            ("ApiKey", "API keys", "Keys of programs; never the keys themselves."),
        ),
    ),
    (
        "Models and spending",
        (
            ("Pool", "Pools", "Workers and conductors that teams use together."),
            ("Worker", "Workers", "Models of all teams, with endpoint and price."),
            ("Budget", "Budgets", "What teams, members and keys may spend."),
        ),
    ),
    (
        "Records",
        (
            ("Run", "Runs", "Runs of all teams, without prompts and answers."),
            ("Retention", "Retention", "How long teams keep prompts and answers."),
            ("LegalHold", "Legal holds", "What must not be erased."),
        ),
    ),
)
UNCOUNTED = frozenset({"Run"})
"""Tables too long to be counted for a number beside a link."""


@dataclass(frozen=True, slots=True)
class Card:
    """A link to a page or a list, with what is there."""

    title: str
    url: str
    words: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class CardGroup:
    """Cards that belong together."""

    title: str
    cards: tuple[Card, ...]


@require_safe
def site_overview(request: HttpRequest) -> HttpResponse:
    """Show an operator's pages and the lists that this operator may see."""
    is_superuser = request.user.is_superuser
    pages = tuple(
        Card(title, reverse(route), words)
        for route, title, words in PAGES
        if is_superuser or route not in FOR_SUPERUSERS
    )
    context = {
        "tab": "site",
        "title": "Site",
        "warnings": site_warnings() if is_superuser else None,
        "groups": [CardGroup("Running the site", pages), *_records(request)],
    }
    return render(request, "site/overview.html", context)


def records_overview(
    request: HttpRequest, app_label: str, extra_context: Any = None
) -> HttpResponse:
    """Lead from the theme's lists of an app to the one page with all lists."""
    return redirect("admin:index")


def _records(request: HttpRequest) -> Iterator[CardGroup]:
    """Yield the lists that this operator may see, by topic."""
    visible = {
        model["object_name"]: model
        for app in admin.site.get_app_list(request)
        for model in app["models"]
        if model["admin_url"]
    }
    for title, lists in RECORDS:
        cards = tuple(
            Card(
                words, visible[name]["admin_url"], hint, _count(visible[name]["model"])
            )
            for name, words, hint in lists
            if name in visible
        )
        if cards:
            yield CardGroup(title, cards)


def _count(model: type[models.Model]) -> int | None:
    """Return how many rows a list has, across teams; None: too many to count."""
    if model.__name__ in UNCOUNTED:
        return None
    # The base manager is not scoped to a team: operators see the rows of all of them.
    return model._base_manager.count()
