"""Pools: the list, a new one, one of them, its history, the end."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.console.evaluations.calibration_offers import calibration_offer
from apps.console.evaluations.profile_rows import pool_profiles
from apps.console.forms.pools import PoolForm, moved, new_pool_initial, pool_initial
from apps.console.layout import change_and_tell, console_page, require, try_change
from apps.console.pool_rows import (
    VersionLine,
    model_names,
    pool_cards,
    version_lines,
    versions_since,
    worker_rows,
)
from apps.core.errors import InvalidInput, VersionConflict
from apps.pools.errors import PoolUnusable
from apps.pools.models import Pool, TierPlanner, Worker
from apps.pools.selectors import (
    access_pool,
    conductor_list,
    planning_notices,
    pool_list,
    version_setup,
    worker_list,
)
from apps.pools.services import (
    pool_create,
    pool_delete,
    pool_start,
    pool_update,
    setup_put,
)
from apps.pools.types import HealthState
from apps.runs.selectors import worker_healths
from apps.web.team_access import TeamRequest, team_view

TAB = "pools"
INVALID, OUTDATED = 422, 412
ANSWERING = {HealthState.HEALTHY, HealthState.DEGRADED}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of saving a pool."""

    pool: Pool | None = None
    """As it is saved; None: it is not."""
    is_outdated: bool = False
    """True: another person changed it since the form was opened."""


@require_GET
@team_view
def pool_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's pools; lead a team without one to its first."""
    require(request, Permission.READ_TEAM)
    cards = pool_cards(request.team.id)
    workers = [] if cards else worker_rows(request.team.id)
    context = {
        "cards": cards,
        "workers": workers,
        "worker_names": ", ".join(row.worker.name for row in workers),
    }
    return console_page(request, "console/pool_list.html", context, tab=TAB)


@require_POST
@team_view
def pool_start_view(request: TeamRequest) -> HttpResponseBase:
    """Make the first pool out of every enabled worker of the team."""
    require(request, Permission.MANAGE_POOLS)
    team, actor = request.team, request.actor
    workers = [each for each in worker_list(team.id) if each.is_enabled]
    return change_and_tell(
        request,
        lambda: pool_start(
            team=team,
            workers=workers,
            conductor=conductor_list(team.id).first(),
            actor=actor,
        ),
        _("Pool created. You can use it in the chat now."),
        "console:pool_list",
    )


@require_http_methods(["GET", "POST"])
@team_view
def pool_new(request: TeamRequest) -> HttpResponseBase:
    """Put a pool together."""
    require(request, Permission.MANAGE_POOLS)
    if request.method != "POST":
        return _form_page(request, _form(request))
    return _save(request)


@require_http_methods(["GET", "POST"])
@team_view
def pool_page(request: TeamRequest, pool_id: uuid.UUID) -> HttpResponseBase:
    """Show one pool and change it."""
    require(request, Permission.READ_TEAM)
    pool = access_pool(request.team.id, pool_id)
    if request.method != "POST":
        return _form_page(request, _form(request, pool), pool)
    require(request, Permission.MANAGE_POOLS)
    return _save(request, pool)


@require_GET
@team_view
def pool_history(request: TeamRequest, pool_id: uuid.UUID) -> HttpResponseBase:
    """Show what each version of a pool changed, who made it and when."""
    require(request, Permission.READ_TEAM)
    pool = access_pool(request.team.id, pool_id)
    context = {"pool": pool, "lines": version_lines(pool)}
    return console_page(request, "console/pool_history.html", context, tab=TAB)


@require_POST
@team_view
def pool_restore(
    request: TeamRequest, pool_id: uuid.UUID, version: int
) -> HttpResponseBase:
    """Make a new version of a pool that is as an earlier one was."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)

    try:
        setup = version_setup(pool, version)
        saved = setup_put(pool=pool, setup=setup, actor=request.actor)
    except (PoolUnusable, InvalidInput, VersionConflict) as error:
        messages.error(
            request, _("Not restored: %(reason)s.") % {"reason": error.message}
        )
    else:
        messages.success(request, _restored_words(saved, pool, version))
    return redirect("console:pool_history", pool.id)


@require_http_methods(["GET", "POST"])
@team_view
def pool_remove(request: TeamRequest, pool_id: uuid.UUID) -> HttpResponseBase:
    """Ask first, then delete a pool."""
    require(request, Permission.MANAGE_POOLS)
    pool = access_pool(request.team.id, pool_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: pool_delete(pool=pool, actor=request.actor),
            _("The pool %(name)s is deleted.") % {"name": pool.name},
            "console:pool_list",
        )
    names = _(" and ").join(model_names(pool))
    context = {
        "title": _("Delete the pool “%(name)s”?") % {"name": pool.name},
        "points": [
            _("Requests for %(names)s fail from now on.") % {"names": names},
            _("Its history of versions goes with it. Runs it did stay on record."),
            _("Its workers, conductor and credentials stay."),
        ],
        "label": _("Delete pool"),
        "back": reverse("console:pool", args=[pool.id]),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _save(request: TeamRequest, pool: Pool | None = None) -> HttpResponse:
    if "move" in request.POST:
        form = _form(request, pool)
        form.keep(moved(request.POST, request.POST["move"]))
        return _form_page(request, form, pool, is_unsaved=True)
    form = _form(request, pool, is_sent=True)
    before = set() if pool is None else {place.worker_id for place in pool.places.all()}
    outcome = _change(request, form, pool) if form.is_valid() else Outcome()
    if outcome.pool is not None:
        messages.success(request, _saved_words(outcome.pool, pool))
        saved = access_pool(request.team.id, outcome.pool.id)
        added = [w for w in saved.enabled_workers if w.id not in before]
        calibration_offer(request, saved, added)
        return redirect("console:pool", outcome.pool.id)
    if pool is not None and outcome.is_outdated:
        return _conflict_page(request, form, pool)
    fresh = None if pool is None else access_pool(request.team.id, pool.id)
    return _form_page(request, form, fresh, status=INVALID)


def _change(request: TeamRequest, form: PoolForm, pool: Pool | None) -> Outcome:
    values, actor = form.values(), request.actor
    version = form.cleaned_data["version"]

    def change() -> Outcome:
        if pool is None:
            made = pool_create(team=request.team, values=values, actor=actor)
            return Outcome(made)
        try:
            saved = pool_update(
                pool=pool, values=values, actor=actor, expected_version=version
            )
        except VersionConflict:
            return Outcome(is_outdated=True)
        return Outcome(saved)

    return try_change(form, change) or Outcome()


def _saved_words(saved: Pool, old: Pool | None) -> str:
    if old is not None and old.version == saved.version:
        return _("Nothing to change: %(name)s is as it was.") % {"name": saved.name}
    words = _("The pool %(name)s is saved as version %(number)d.") % {
        "name": saved.name,
        "number": saved.version,
    }
    if old is None or old.conductor_id or not saved.conductor:
        return words
    if not any(TierPlanner(t.planner).has_conductor for t in saved.tiers.all()):
        return words
    planned = _(
        "%(name)s plans its tiers from now on; what each tier does can be changed "
        "below."
    ) % {"name": saved.conductor.name}
    return f"{words} {planned}"


def _restored_words(saved: Pool, old: Pool, version: int) -> str:
    values = {"name": saved.name, "old": version, "new": saved.version}
    if saved.version == old.version:
        return (
            _(
                "Nothing to restore: %(name)s is as it was at version %(old)d, but for "
                "names, tags and prices."
            )
            % values
        )
    return (
        _("The pool %(name)s is as it was at version %(old)d. That is version %(new)d.")
        % values
    )


def _conflict_page(request: TeamRequest, form: PoolForm, pool: Pool) -> HttpResponse:
    """Show the other person's changes; saving again overwrites them."""
    fresh = access_pool(request.team.id, pool.id)
    theirs = versions_since(fresh, form.cleaned_data["version"])
    again = _form(request, fresh)
    again.keep(request.POST)
    again.initial["version"] = fresh.version
    return _form_page(request, again, fresh, status=OUTDATED, theirs=theirs)


def _form(
    request: TeamRequest, pool: Pool | None = None, *, is_sent: bool = False
) -> PoolForm:
    team_id = request.team.id
    workers, conductors = list(worker_list(team_id)), list(conductor_list(team_id))
    if pool is None:
        is_first = not pool_list(team_id).exists()
        initial = new_pool_initial(
            _answering(team_id, workers), conductors, is_first=is_first
        )
    else:
        initial = pool_initial(pool, workers)
    return PoolForm(
        request.POST if is_sent else None,
        initial=initial,
        workers=workers,
        conductors=conductors,
        light_planner=None if pool is None else pool.planner_version,
    )


def _answering(team_id: uuid.UUID, workers: list[Worker]) -> list[Worker]:
    """Return the workers whose last calls, or else whose last test, went well."""
    healths = worker_healths(team_id, workers)
    return [each for each in workers if healths[each.id].state in ANSWERING]


def _form_page(
    request: TeamRequest,
    form: PoolForm,
    pool: Pool | None = None,
    *,
    status: int = 200,
    theirs: list[VersionLine] | None = None,
    **more: Any,
) -> HttpResponse:
    context = {
        "form": form,
        "pool": pool,
        "rows": {row.worker.id: row for row in worker_rows(request.team.id)},
        "theirs": theirs,
        "models": [] if pool is None else model_names(pool),
        "notices": [] if pool is None else planning_notices(pool),
        "profiles": None if pool is None else pool_profiles(pool),
        **more,
    }
    template = "console/pool_form.html"
    return console_page(request, template, context, tab=TAB, status=status)
