"""Workers: the list with their health, a new one, one of them, a test, the end."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine
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
from apps.console.evaluations.calibration_offers import calibration_offer
from apps.console.evaluations.profile_rows import profile_view
from apps.console.forms.models import NEW_POOL, WorkerForm, worker_initial
from apps.console.layout import change_and_tell, console_page, require, try_change
from apps.console.list_prices import (
    USE,
    adopted_values,
    agreed_values,
    form_offer,
    model_offer,
    put_offer,
)
from apps.console.pool_pages.worker_order import worker_table
from apps.console.pool_rows import worker_row, worker_rows
from apps.console.provider_lookup import (
    OTHER,
    after_test,
    is_part,
    known_provider_of,
    models_found,
    new_credential,
    provider_initial,
)
from apps.console.test_result_view import test_line
from apps.pools.models import Worker
from apps.pools.selectors import (
    access_worker,
    credential_list,
    known_provider_list,
    pool_list,
)
from apps.pools.services import (
    abilities_adopt,
    save_with_credential,
    worker_delete,
    worker_first_test,
    worker_onboard,
    worker_test,
    worker_update,
)
from apps.pools.types import TestResult
from apps.training.selectors import changed_in
from apps.web.languages import way_back
from apps.web.team_access import TeamRequest, team_view
from apps.web.waiting import Work, wait_for

TAB = "workers"
INVALID = 422


@require_GET
@team_view
def worker_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the team's workers, of the state and in the order that are asked for."""
    require(request, Permission.READ_TEAM)
    rows = worker_rows(request.team.id)
    offers = {row.worker.id: model_offer(row.worker) for row in rows}
    table = worker_table(rows, request.GET)
    context = {"rows": rows, "table": table, "offers": offers}
    return console_page(request, "console/worker_list.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def worker_new(request: TeamRequest) -> HttpResponseBase:
    """Choose a provider, then describe the worker; save it, and test it if asked."""
    require(request, Permission.MANAGE_POOLS)
    if request.method == "POST":
        return _create(request)
    if "provider" not in request.GET:
        context = {"providers": known_provider_list(), "other": OTHER}
        return console_page(request, "console/worker_providers.html", context, tab=TAB)
    return _form_page(request, _form(request))


@require_http_methods(["GET", "POST"])
@team_view
def worker_page(request: TeamRequest, worker_id: uuid.UUID) -> HttpResponseBase:
    """Show one worker and change it."""
    require(request, Permission.READ_TEAM)
    worker = access_worker(request.team.id, worker_id)
    if request.method == "POST":
        require(request, Permission.MANAGE_POOLS)
        return _update(request, worker)
    return _form_page(request, _form(request, worker), worker)


@require_POST
@team_view
def worker_test_view(request: TeamRequest, worker_id: uuid.UUID) -> HttpResponseBase:
    """Ask the worker something short and show what it says."""
    require(request, Permission.MANAGE_POOLS)
    worker = access_worker(request.team.id, worker_id)
    is_set_up = request.POST.get("from") == "setup"
    test = worker_first_test if is_set_up else worker_test
    wait_for(request, _testing(request, worker, test))
    if is_part(request):
        row = worker_row(access_worker(request.team.id, worker_id))
        is_line = request.POST.get("from") == "list"
        context = {"row": row, "test": row.test, "is_line": is_line, "is_new": True}
        return console_page(request, "console/_worker_tested.html", context, tab=TAB)
    if request.POST.get("from") == "list":
        return redirect(f"{reverse('console:worker_list')}#worker-{worker.id}")
    if is_set_up:
        return redirect("console:setup_models")
    return redirect("console:worker", worker.id)


@require_POST
@team_view
def worker_price_adopt(request: TeamRequest, worker_id: uuid.UUID) -> HttpResponseBase:
    """Make the list price that was shown the worker's own, from today on."""
    require(request, Permission.MANAGE_POOLS)
    worker = access_worker(request.team.id, worker_id)
    return change_and_tell(
        request,
        lambda: worker_update(
            worker=worker,
            values=adopted_values(worker, request.POST),
            actor=request.actor,
        ),
        _("The worker %(name)s has the list price from today on.")
        % {"name": worker.name},
        "console:worker_list",
    )


@require_POST
@team_view
def worker_abilities_adopt(
    request: TeamRequest, worker_id: uuid.UUID
) -> HttpResponseBase:
    """Turn a worker's abilities on and off as its last test found them."""
    require(request, Permission.MANAGE_POOLS)
    worker = access_worker(request.team.id, worker_id)
    own_page = reverse("console:worker", args=[worker.id])
    return change_and_tell(
        request,
        lambda: abilities_adopt(worker=worker, actor=request.actor),
        _("The abilities of %(name)s are set as its test found them.")
        % {"name": worker.name},
        way_back(request, request.POST.get("next", own_page)),
    )


@require_http_methods(["GET", "POST"])
@team_view
def worker_remove(request: TeamRequest, worker_id: uuid.UUID) -> HttpResponseBase:
    """Ask first, then delete a worker that no pool uses."""
    require(request, Permission.MANAGE_POOLS)
    worker = access_worker(request.team.id, worker_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: worker_delete(worker=worker, actor=request.actor),
            _("The worker %(name)s is deleted.") % {"name": worker.name},
            "console:worker_list",
        )
    context = {
        "title": _("Delete the worker “%(name)s”?") % {"name": worker.name},
        "points": [
            _("Its prices and its last test go with it."),
            _("Runs it worked in stay on record."),
            _("A credential it used stays under Credentials."),
        ],
        "label": _("Delete worker"),
        "back": reverse("console:worker", args=[worker.id]),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _create(request: TeamRequest) -> HttpResponse:
    if "list_models" in request.POST:
        return _with_models(request)
    if USE in request.POST:
        return _with_list_price(request)
    form = _form(request, is_sent=True)
    worker = None
    if form.is_valid():
        worker = try_change(
            form,
            lambda: worker_onboard(
                team=request.team,
                values=form.values(),
                credential=new_credential(form),
                pool_ids=form.pool_ids,
                starts_pool=form.starts_pool,
                actor=request.actor,
            ),
        )
    if worker is None:
        return _form_page(request, form, status=INVALID)
    response = _saved(
        request, worker, _("Worker %(name)s added.") % {"name": worker.name}
    )
    fresh = access_worker(request.team.id, worker.id)
    pool = fresh.pools.order_by("-is_default", "name").first()
    if pool is not None:
        calibration_offer(request, pool, [fresh])
    return response


def _update(request: TeamRequest, worker: Worker) -> HttpResponse:
    if "list_models" in request.POST:
        return _with_models(request, worker)
    if USE in request.POST:
        return _with_list_price(request, worker)
    form = _form(request, worker, is_sent=True)
    saved = None
    if form.is_valid():
        saved = try_change(
            form,
            lambda: save_with_credential(
                team=request.team,
                values=form.values(),
                credential=new_credential(form),
                actor=request.actor,
                save=lambda values: worker_update(
                    worker=worker, values=values, actor=request.actor
                ),
            ),
        )
    if saved is None:
        fresh = access_worker(request.team.id, worker.id)
        return _form_page(request, form, fresh, status=INVALID)
    return _saved(
        request, saved, _("The worker %(name)s is saved.") % {"name": saved.name}
    )


def _saved(request: TeamRequest, worker: Worker, words: str) -> HttpResponse:
    messages.success(request, words)
    response = redirect("console:worker", worker.id)
    if "test" in request.POST:
        return after_test(request, response, _testing(request, worker))
    return response


def _testing(
    request: TeamRequest,
    worker: Worker,
    test: Callable[..., Coroutine[Any, Any, TestResult]] = worker_test,
) -> Work:
    """Return the work of testing a worker."""
    return partial(
        test, team_id=request.team.id, worker_id=worker.id, actor=request.actor
    )


def _with_models(request: TeamRequest, worker: Worker | None = None) -> HttpResponse:
    """Return the form as it was typed, with the models of the provider to choose from.

    For the page's script, the models alone.
    """
    found = models_found(request, request.POST)
    if is_part(request):
        context = {"found": found}
        return console_page(request, "console/_worker_models.html", context, tab=TAB)
    form = _form(request, worker)
    form.keep(request.POST)
    return _form_page(request, form, worker, found=found)


def _with_list_price(
    request: TeamRequest, worker: Worker | None = None
) -> HttpResponse:
    """Give a worker its list price if nothing else was changed, else fill it in.

    For the page's script, the list price of what was typed.
    """
    form = _form(request, worker, is_sent=True)
    if is_part(request):
        context = {"offer": form_offer(form, worker)}
        return console_page(request, "console/_list_price.html", context, tab=TAB)
    values = agreed_values(form, worker, request.POST)
    if worker is not None and values:
        return change_and_tell(
            request,
            lambda: worker_update(worker=worker, values=values, actor=request.actor),
            _("The worker %(name)s has the list price from today on.")
            % {"name": worker.name},
            reverse("console:worker", args=[worker.id]),
        )
    form = _form(request, worker)
    form.keep(request.POST)
    is_filled = put_offer(form)
    return _form_page(request, form, worker, is_filled=is_filled)


def _form(
    request: TeamRequest, worker: Worker | None = None, *, is_sent: bool = False
) -> WorkerForm:
    credentials = list(credential_list(request.team.id))
    data = request.POST if is_sent else None
    if worker is not None:
        return WorkerForm(data, initial=worker_initial(worker), credentials=credentials)
    pools = list(pool_list(request.team.id))
    chosen = [str(pool.id) for pool in pools if pool.is_default]
    provider = known_provider_of(request.GET.get("provider", ""))
    initial = {
        "max_output_tokens": 4096,
        "pools": chosen if pools else [NEW_POOL],
        **provider_initial(provider, credentials),
    }
    return WorkerForm(data, initial=initial, credentials=credentials, pools=pools)


def _form_page(
    request: TeamRequest,
    form: WorkerForm,
    worker: Worker | None = None,
    *,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    context = {
        "form": form,
        "worker": worker,
        "provider": known_provider_of(request.GET.get("provider", "")),
        "row": None if worker is None else worker_row(worker),
        "test": None if worker is None else test_line(worker),
        "offer": form_offer(form, worker),
        "profile": None if worker is None else profile_view(worker),
        "changed": () if worker is None else tuple(changed_in(worker)),
        **more,
    }
    template = "console/worker_form.html"
    return console_page(request, template, context, tab=TAB, status=status)
