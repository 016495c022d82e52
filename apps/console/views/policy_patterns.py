"""Pages of the kinds of sensitive data that a team's policy defines itself."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.console.forms.policy_patterns import PatternForm
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.console.views.policy import TAB, policy_values, require_readable
from apps.core.errors import NotFound
from apps.governance.models import PolicyVersion
from apps.governance.selectors import policy_newest
from apps.governance.services import policy_replace
from apps.web.team_access import TeamRequest, team_view


@require_http_methods(["GET", "POST"])
@team_view
def policy_pattern_new(request: TeamRequest) -> HttpResponseBase:
    """Add a kind of sensitive data."""
    return _pattern_page(request, None)


@require_http_methods(["GET", "POST"])
@team_view
def policy_pattern_edit(request: TeamRequest, name: str) -> HttpResponseBase:
    """Change a kind of sensitive data."""
    return _pattern_page(request, name)


@require_POST
@team_view
def policy_pattern_delete(request: TeamRequest, name: str) -> HttpResponseBase:
    """Delete a kind of sensitive data that no rule names."""
    require(request, Permission.MANAGE_POLICY)
    values = policy_values(policy_newest(request.team.id))
    del values["patterns"][_place(values, name)]
    version = request.POST.get("version", "")
    return change_and_tell(
        request,
        lambda: policy_replace(
            team=request.team,
            values=values,
            actor=request.actor,
            expected_version=int(version) if version.isdecimal() else -1,
        ),
        gettext("“{name}” is deleted. The history can restore it.").format(name=name),
        "console:policy",
    )


def _pattern_page(request: TeamRequest, name: str | None) -> HttpResponseBase:
    require(request, Permission.MANAGE_POLICY)
    newest = policy_newest(request.team.id)
    require_readable(newest)
    values = policy_values(newest)
    place = len(values["patterns"]) if name is None else _place(values, name)
    initial = {"version": newest.version if newest else 0}
    if name is not None:
        initial |= values["patterns"][place]
    form = PatternForm(posted(request), initial=initial)
    is_tried = form.is_valid() and "try" in request.POST
    if form.is_valid() and not is_tried and _save(request, form, values, place):
        done = gettext("“{name}” is saved.").format(name=form.cleaned_data["name"])
        messages.success(request, done)
        return redirect("console:policy")
    context = {
        "title": gettext("Add a kind of sensitive data")
        if name is None
        else f"“{name}”",
        "form": form,
        "found": form.found if is_tried else None,
        "back": reverse("console:policy"),
    }
    return console_page(request, "console/policy_pattern.html", context, tab=TAB)


def _save(
    request: TeamRequest, form: PatternForm, values: dict[str, Any], place: int
) -> PolicyVersion | None:
    values["patterns"][place : place + 1] = [form.values]
    return try_change(
        form,
        lambda: policy_replace(
            team=request.team,
            values=values,
            actor=request.actor,
            expected_version=form.cleaned_data["version"],
        ),
    )


def _place(values: dict[str, Any], name: str) -> int:
    names = [pattern["name"] for pattern in values["patterns"]]
    if name not in names:
        raise NotFound(f"the policy has no pattern named {name!r}")
    return names.index(name)
