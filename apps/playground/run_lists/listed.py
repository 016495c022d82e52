"""The list that an address asks for: its filters, and the way back to it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from apps.playground.choices import filter_choices
from apps.playground.run_lists.filters import RunFilterForm
from apps.web.run_addresses import BY_CALLERS
from apps.web.team_access import TeamRequest

NO_FILTERS = frozenset({"page", "sort"})
"""Parts of an address that leave the list as long as it is."""


def filter_form(request: TeamRequest) -> RunFilterForm:
    """Return the filters of the address; without any, runs of people and programs."""
    given = request.GET.copy()
    is_usual = set(given) <= NO_FILTERS
    if is_usual:
        given["source"] = BY_CALLERS
    form = RunFilterForm(given, filter_choices(request.principal, given))
    form.is_usual = is_usual
    form.is_valid()
    return form


def back_to_list(request: TeamRequest) -> HttpResponse:
    """Lead back to the list that the address asks for."""
    query, address = request.GET.urlencode(), reverse("playground:run_list")
    return redirect(f"{address}?{query}" if query else address)
