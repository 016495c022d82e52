"""Credentials: API keys of providers. Listed without the key, replaced, deleted."""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.models import Permission
from apps.console.forms.credentials import CredentialChangeForm, CredentialForm
from apps.console.layout import change_and_tell, console_page, require, try_change
from apps.console.pool_rows import credential_rows
from apps.pools.selectors import access_credential, credential_list
from apps.pools.services import (
    credential_create,
    credential_delete,
    credential_update,
)
from apps.web.team_access import TeamRequest, team_view

TAB = "credentials"
INVALID = 422


@require_GET
@team_view
def credential_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's keys for providers."""
    require(request, Permission.READ_TEAM)
    keys = credential_list(request.team.id)
    context = {"rows": credential_rows(request.team.id, keys)}
    return console_page(request, "console/credential_list.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def credential_new(request: TeamRequest) -> HttpResponseBase:
    """Store a new key."""
    require(request, Permission.MANAGE_POOLS)
    form = CredentialForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        made = try_change(
            form,
            lambda: credential_create(
                team=request.team, values=form.values(), actor=request.actor
            ),
        )
        if made is not None:
            messages.success(
                request,
                _("The credential %(name)s is stored for %(address)s.")
                % {"name": made.name, "address": made.origin},
            )
            return redirect("console:credential_list")
    context = {
        "title": _("New credential"),
        "lead": _("A provider's API key, for workers and conductors at its address."),
        "form": form,
        "label": _("Save credential"),
        "back": reverse("console:credential_list"),
    }
    status = INVALID if form.is_bound else 200
    return console_page(request, "console/form.html", context, tab=TAB, status=status)


@require_http_methods(["GET", "POST"])
@team_view
def credential_page(request: TeamRequest, credential_id: uuid.UUID) -> HttpResponseBase:
    """Rename a key or replace its secret."""
    require(request, Permission.MANAGE_POOLS)
    credential = access_credential(request.team.id, credential_id)
    address, name = credential.origin, credential.name
    data = request.POST if request.method == "POST" else None
    form = CredentialChangeForm(data, initial={"name": name})
    if form.is_bound and form.is_valid():
        saved = try_change(
            form,
            lambda: credential_update(
                credential=credential, values=form.values(), actor=request.actor
            ),
        )
        if saved is not None:
            is_replaced = "secret" in form.values()
            done = (
                _("The credential %(name)s has a new API key.")
                if is_replaced
                else _("The credential %(name)s is saved.")
            )
            messages.success(request, done % {"name": saved.name})
            return redirect("console:credential_list")
    context = {
        "title": _("Change %(name)s") % {"name": name},
        "lead": _("For %(address)s. The stored API key cannot be shown, only replaced.")
        % {"address": address},
        "form": form,
        "label": _("Save"),
        "back": reverse("console:credential_list"),
    }
    status = INVALID if form.is_bound else 200
    return console_page(request, "console/form.html", context, tab=TAB, status=status)


@require_http_methods(["GET", "POST"])
@team_view
def credential_remove(
    request: TeamRequest, credential_id: uuid.UUID
) -> HttpResponseBase:
    """Ask first, then delete a key that nothing uses."""
    require(request, Permission.MANAGE_POOLS)
    credential = access_credential(request.team.id, credential_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: credential_delete(credential=credential, actor=request.actor),
            _("The credential %(name)s is deleted.") % {"name": credential.name},
            "console:credential_list",
        )
    context = {
        "title": _("Delete the credential “%(name)s”?") % {"name": credential.name},
        "points": [
            _(
                "The stored API key for %(address)s is erased. It cannot be brought "
                "back; the provider can issue another."
            )
            % {"address": credential.origin},
        ],
        "label": _("Delete credential"),
        "back": reverse("console:credential_list"),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)
