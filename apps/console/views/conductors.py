"""Conductors: the models that plan. The list, a new one, one of them, a test."""

from __future__ import annotations

import uuid
from functools import partial
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
from apps.console.forms.models import ConductorForm, conductor_initial
from apps.console.layout import change_and_tell, console_page, require, try_change
from apps.console.list_prices import USE, agreed_values, form_offer, put_offer
from apps.console.pool_rows import conductor_rows
from apps.console.provider_lookup import (
    after_test,
    is_part,
    models_found,
    new_credential,
)
from apps.console.server_status_view import server_line
from apps.console.test_result_view import test_line
from apps.pools.models import Conductor
from apps.pools.selectors import access_conductor, credential_list
from apps.pools.services import (
    conductor_create,
    conductor_delete,
    conductor_look,
    conductor_test,
    conductor_update,
    save_with_credential,
)
from apps.web.team_access import TeamRequest, team_view
from apps.web.waiting import Work, wait_for

TAB = "conductors"
INVALID = 422


@require_GET
@team_view
def conductor_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's conductors."""
    require(request, Permission.READ_TEAM)
    context = {"rows": conductor_rows(request.team.id)}
    return console_page(request, "console/conductor_list.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def conductor_new(request: TeamRequest) -> HttpResponseBase:
    """Describe a conductor; save it, and test it if asked."""
    require(request, Permission.MANAGE_POOLS)
    if request.method == "POST":
        return _save(request)
    return _form_page(request, _form(request))


@require_http_methods(["GET", "POST"])
@team_view
def conductor_page(request: TeamRequest, conductor_id: uuid.UUID) -> HttpResponseBase:
    """Show one conductor and change it."""
    require(request, Permission.READ_TEAM)
    conductor = access_conductor(request.team.id, conductor_id)
    if request.method == "POST":
        require(request, Permission.MANAGE_POOLS)
        return _save(request, conductor)
    return _form_page(request, _form(request, conductor), conductor)


@require_POST
@team_view
def conductor_test_view(
    request: TeamRequest, conductor_id: uuid.UUID
) -> HttpResponseBase:
    """Ask the conductor something short and show what it says."""
    require(request, Permission.MANAGE_POOLS)
    team_id = request.team.id
    conductor = access_conductor(team_id, conductor_id)
    wait_for(request, _testing(request, conductor))
    if is_part(request):
        tested = access_conductor(team_id, conductor_id)
        context = {"test": test_line(tested)}
        return console_page(request, "console/_worker_tested.html", context, tab=TAB)
    if request.POST.get("from") == "setup":
        url = reverse("console:setup_models")
        return redirect(f"{url}?conductor={conductor.id}")
    return redirect("console:conductor", conductor.id)


@require_GET
@team_view
def conductor_server(request: TeamRequest, conductor_id: uuid.UUID) -> HttpResponseBase:
    """Show how the conductor's server is doing just now."""
    require(request, Permission.READ_TEAM)
    conductor = access_conductor(request.team.id, conductor_id)
    team_id = request.team.id
    look = wait_for(
        request, lambda: conductor_look(team_id=team_id, conductor_id=conductor.id)
    )
    context = {"conductor": conductor, "server": server_line(look)}
    part, page = "console/_conductor_server.html", "console/conductor_server.html"
    template = part if is_part(request) else page
    return console_page(request, template, context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def conductor_remove(request: TeamRequest, conductor_id: uuid.UUID) -> HttpResponseBase:
    """Ask first, then delete a conductor that no pool uses."""
    require(request, Permission.MANAGE_POOLS)
    conductor = access_conductor(request.team.id, conductor_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: conductor_delete(conductor=conductor, actor=request.actor),
            _("The conductor %(name)s is deleted.") % {"name": conductor.name},
            "console:conductor_list",
        )
    context = {
        "title": _("Delete the conductor “%(name)s”?") % {"name": conductor.name},
        "points": [
            _(
                "Its prices and its last test go with it. Runs it planned stay on "
                "record."
            ),
            _("A credential it used stays under Credentials."),
        ],
        "label": _("Delete conductor"),
        "back": reverse("console:conductor", args=[conductor.id]),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _save(request: TeamRequest, old: Conductor | None = None) -> HttpResponse:
    if "list_models" in request.POST:
        return _with_models(request, old)
    if USE in request.POST:
        return _with_list_price(request, old)
    form = _form(request, old, is_sent=True)
    saved = None
    if form.is_valid():
        saved = try_change(form, lambda: _change(request, form, old))
    if saved is None:
        fresh = None if old is None else access_conductor(request.team.id, old.id)
        return _form_page(request, form, fresh, status=INVALID)
    messages.success(
        request, _("The conductor %(name)s is saved.") % {"name": saved.name}
    )
    response = redirect("console:conductor", saved.id)
    if "test" in request.POST:
        return after_test(request, response, _testing(request, saved))
    return response


def _testing(request: TeamRequest, conductor: Conductor) -> Work:
    """Return the work of testing a conductor."""
    return partial(
        conductor_test,
        team_id=request.team.id,
        conductor_id=conductor.id,
        actor=request.actor,
    )


def _change(
    request: TeamRequest, form: ConductorForm, old: Conductor | None
) -> Conductor:
    team, actor = request.team, request.actor
    return save_with_credential(
        team=team,
        values=form.values(),
        credential=new_credential(form),
        actor=actor,
        save=lambda values: (
            conductor_create(team=team, values=values, actor=actor)
            if old is None
            else conductor_update(conductor=old, values=values, actor=actor)
        ),
    )


def _with_models(request: TeamRequest, old: Conductor | None) -> HttpResponse:
    """Return the form as it was typed, with the models of the provider to choose from.

    For the page's script, the models alone.
    """
    found = models_found(request, request.POST)
    if is_part(request):
        context = {"found": found}
        return console_page(request, "console/_worker_models.html", context, tab=TAB)
    form = _form(request, old)
    form.keep(request.POST)
    return _form_page(request, form, old, found=found)


def _with_list_price(request: TeamRequest, old: Conductor | None) -> HttpResponse:
    """Give a conductor its list price if nothing else was changed, else fill it in.

    For the page's script, the list price of what was typed.
    """
    form = _form(request, old, is_sent=True)
    if is_part(request):
        context = {"offer": form_offer(form, old)}
        return console_page(request, "console/_list_price.html", context, tab=TAB)
    values = agreed_values(form, old, request.POST)
    if old is not None and values:
        return change_and_tell(
            request,
            lambda: conductor_update(conductor=old, values=values, actor=request.actor),
            _("The conductor %(name)s has the list price from today on.")
            % {"name": old.name},
            reverse("console:conductor", args=[old.id]),
        )
    form = _form(request, old)
    form.keep(request.POST)
    is_filled = put_offer(form)
    return _form_page(request, form, old, is_filled=is_filled)


def _form(
    request: TeamRequest, old: Conductor | None = None, *, is_sent: bool = False
) -> ConductorForm:
    initial = {"max_output_tokens": 2048} if old is None else conductor_initial(old)
    return ConductorForm(
        request.POST if is_sent else None,
        initial=initial,
        credentials=list(credential_list(request.team.id)),
    )


def _form_page(
    request: TeamRequest,
    form: ConductorForm,
    conductor: Conductor | None = None,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = {
        "form": form,
        "conductor": conductor,
        "test": None if conductor is None else test_line(conductor),
        "offer": form_offer(form, conductor),
        **more,
    }
    template = "console/conductor_form.html"
    return console_page(request, template, context, tab=TAB, status=status)
