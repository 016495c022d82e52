"""API keys: the list, making, changing, rotating, revoking.

A new key is shown in the answer to the form that made it and nowhere else: the answer
is not stored, and sending the form again makes no second key.
"""

from __future__ import annotations

import uuid

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.models import ApiKey, Permission
from apps.accounts.selectors import (
    access_api_key,
    ended_key_list,
    live_key_list,
)
from apps.accounts.services import api_key_revoke, api_key_rotate, api_key_update
from apps.budgets.selectors import budget_list, standings_forget
from apps.budgets.services import api_key_issue_with_budget
from apps.console.budget_rows import budget_rows, rows_by_key
from apps.console.forms.keys import KeyForm, NewKeyForm, RotateForm
from apps.console.key_rows import key_rows, sample_model
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.core.errors import Conflict
from apps.pools.selectors import pool_list, worker_list
from apps.web.form_tokens import note_used, once_mark, was_used
from apps.web.request_context import shown_site_url
from apps.web.team_access import TeamRequest, team_view

KEYS_PER_PAGE = 25
ALREADY_MADE = gettext_noop(
    "That key was made already. A key is shown once; rotate it for a new one."
)


@require_GET
@team_view
def key_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the keys that work, or those that ended."""
    team_id, now = request.team.id, timezone.now()
    shows_ended = request.GET.get("state") == "ended"
    live = Paginator(live_key_list(team_id, now), KEYS_PER_PAGE)
    ended = Paginator(ended_key_list(team_id, now), KEYS_PER_PAGE)
    found = (ended if shows_ended else live).get_page(request.GET.get("page"))
    budgets = rows_by_key(budget_rows(budget_list(team_id)))
    context = {
        "rows": key_rows(found.object_list, budgets, now),
        "found": found,
        "shows_ended": shows_ended,
        "live_count": live.count,
        "ended_count": ended.count,
    }
    return console_page(request, "console/keys.html", context, tab="keys")


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def key_create(request: TeamRequest) -> HttpResponseBase:
    """Make a key, with a budget if wanted; show it once."""
    require(request, Permission.MANAGE_KEYS)
    if was_used(request, request.POST.get("once", "")):
        messages.info(request, _(ALREADY_MADE))
        return redirect("console:key_list")
    form = NewKeyForm(posted(request), _worker_names(request))
    if form.is_valid():
        made = try_change(form, lambda: _issue(request, form))
        if made:
            note_used(request, form.cleaned_data["once"])
            return _secret_page(request, *made)
    context = {"form": form, "once": request.POST.get("once") or once_mark()}
    return console_page(request, "console/key_new.html", context, tab="keys")


def _issue(request: TeamRequest, form: NewKeyForm) -> tuple[ApiKey, str]:
    return api_key_issue_with_budget(
        team=request.team,
        actor=request.actor,
        created_by=request.user,
        settings={**form.settings, "lifetime": form.lifetime},
        budget=form.budget,
    )


@require_http_methods(["GET", "POST"])
@team_view
def key_edit(request: TeamRequest, key_id: uuid.UUID) -> HttpResponseBase:
    """Change what a key may do."""
    require(request, Permission.MANAGE_KEYS)
    api_key = _access_live(request, key_id)
    form = KeyForm(posted(request), _worker_names(request), api_key)
    if form.is_valid():
        changed = try_change(
            form,
            lambda: api_key_update(
                api_key=api_key, actor=request.actor, **form.settings
            ),
        )
        if changed:
            messages.success(
                request, _("Key %(name)s is saved.") % {"name": changed.name}
            )
            return redirect("console:key_list")
    context = {"form": form, "api_key": api_key}
    return console_page(request, "console/key_edit.html", context, tab="keys")


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def key_rotate(request: TeamRequest, key_id: uuid.UUID) -> HttpResponseBase:
    """Replace a key by a new one with the same settings; show it once."""
    require(request, Permission.MANAGE_KEYS)
    if was_used(request, request.POST.get("once", "")):
        messages.info(request, _(ALREADY_MADE))
        return redirect("console:key_list")
    api_key = _access_live(request, key_id)
    form = RotateForm(posted(request), initial={"once": once_mark()})
    if form.is_valid():
        made = try_change(
            form,
            lambda: api_key_rotate(
                api_key=api_key,
                actor=request.actor,
                created_by=request.user,
                overlap=form.overlap,
            ),
        )
        if made:
            standings_forget(request.team.id)  # its budgets bind the new key as well
            note_used(request, form.cleaned_data["once"])
            return _secret_page(request, *made, replaced=api_key)
    context = {
        "title": _("Rotate the key “%(name)s”") % {"name": api_key.name},
        "lead": _(
            "You get a new key with the same name, permissions and limits. Put it "
            "where the old one is; meanwhile both are active."
        ),
        "form": form,
        "label": _("Create the new key"),
        "back": reverse("console:key_list"),
    }
    return console_page(request, "console/form.html", context, tab="keys")


@require_http_methods(["GET", "POST"])
@team_view
def key_revoke(request: TeamRequest, key_id: uuid.UUID) -> HttpResponseBase:
    """Revoke a key, after asking."""
    require(request, Permission.MANAGE_KEYS)
    api_key = access_api_key(request.team.id, key_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: api_key_revoke(api_key=api_key, actor=request.actor),
            _("Key %(name)s is revoked.") % {"name": api_key.name},
            "console:key_list",
        )
    context = {
        "title": _("Revoke the key “%(name)s”?") % {"name": api_key.name},
        "points": [
            _("Programs that use it are refused from their next request on."),
            _(
                "A revoked key cannot be brought back. To replace it without a gap, "
                "rotate it instead."
            ),
        ],
        "label": _("Revoke"),
        "back": reverse("console:key_list"),
    }
    return console_page(request, "console/confirm.html", context, tab="keys")


def _access_live(request: TeamRequest, key_id: uuid.UUID) -> ApiKey:
    api_key = access_api_key(request.team.id, key_id)
    if not api_key.is_live(timezone.now()):
        raise Conflict(f"key {api_key.name!r} has ended; make a new one")
    return api_key


def _worker_names(request: TeamRequest) -> list[str]:
    return [worker.name for worker in worker_list(request.team.id)]


def _secret_page(
    request: TeamRequest, api_key: ApiKey, secret: str, replaced: ApiKey | None = None
) -> HttpResponse:
    context = {
        "api_key": api_key,
        "secret": secret,
        "replaced": replaced,
        "base": f"{shown_site_url(request)}/v1",
        "model": sample_model(api_key),
        "has_pool": pool_list(request.team.id).exists(),
    }
    return console_page(request, "console/key_secret.html", context, tab="keys")
