"""Set-up in three pages: a provider, its models, their tests and the pool.

What is saved on the second page stays, whatever the tests say: the third page is that
of the team's models, and can be opened at any time.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.models import Permission
from apps.accounts.services import setup_checklist_dismiss
from apps.console.layout import change_and_tell, console_page, require, try_change
from apps.console.provider_lookup import (
    OTHER,
    ModelsFound,
    is_part,
    known_provider_of,
    models_found,
    new_credential,
    provider_initial,
)
from apps.console.setup.asked_run import asked_again_url
from apps.console.setup.forms import MAX_MODELS, ModelsForm, PricesForm
from apps.console.setup.rows import (
    SetupModels,
    model_options,
    price_gaps,
    setup_models,
)
from apps.core.errors import InvalidInput
from apps.pools.model_guesses import recommended_models
from apps.pools.models import Worker
from apps.pools.selectors import access_worker, credential_list, known_provider_list
from apps.pools.services import (
    conductor_add,
    models_add,
    pool_complete,
    prices_fill,
)
from apps.web.languages import way_back
from apps.web.run_addresses import id_of
from apps.web.team_access import TeamRequest, team_view

TAB = "pools"
UNKNOWN = "unknown"
"""In the address of the page: what was pasted told nobody."""
INVALID = 422
FIRST_PROMPT = 1
"""Number of the sample that the playground begins with."""


@require_http_methods(["GET", "POST"])
@team_view
def setup_page(request: TeamRequest) -> HttpResponseBase:
    """Choose a provider, list its models, mark those to use; save them."""
    require(request, Permission.MANAGE_POOLS)
    if request.method == "POST":
        return _list(request) if "list_models" in request.POST else _save(request)
    if "provider" not in request.GET:
        context = {
            "providers": known_provider_list(),
            "other": OTHER,
            "is_unknown": request.GET.get("access") == UNKNOWN,
        }
        return console_page(request, "console/setup_providers.html", context, tab=TAB)
    return _form_page(request, _form(request))


@require_http_methods(["GET", "POST"])
@team_view
def setup_models_page(request: TeamRequest) -> HttpResponseBase:
    """Test the team's models; let another one plan, or put them to use in a pool."""
    require(request, Permission.MANAGE_POOLS)
    conductor_id = id_of(request.GET.get("conductor", ""))
    found = setup_models(request.team.id, conductor_id)
    if "worker" in request.POST:
        return _choose(request)
    if "prices" in request.POST:
        return _fill_prices(request, found)
    if request.method == "POST":
        return _use(request, found)
    return _models_page(request, found, PricesForm(gaps=price_gaps(found)))


@require_POST
@team_view
def setup_dismiss(request: TeamRequest) -> HttpResponseBase:
    """Show the checklist of the set-up no more to this member."""
    require(request, Permission.MANAGE_POOLS)
    setup_checklist_dismiss(request.membership)
    wanted = request.POST.get("next", reverse("playground:index"))
    return redirect(way_back(request, wanted))


def _list(request: TeamRequest) -> HttpResponse:
    """Return the form as it was typed, with the models of the provider to mark.

    For the page's script, the models alone.
    """
    form = _form(request)
    form.keep(request.POST)
    return _form_page(request, form, found=models_found(request, request.POST))


def _save(request: TeamRequest) -> HttpResponse:
    form = _form(request, is_sent=True)
    provider = known_provider_of(request.GET.get("provider", ""))
    if not form.is_valid():
        return _form_page(request, form, status=INVALID)
    saved = try_change(
        form,
        lambda: (
            models_add(
                team=request.team,
                provider=form.values(),
                extra_params=provider.extra_params if provider else (),
                models=form.marked,
                planner=form.cleaned_data["planner"],
                credential=new_credential(form),
                actor=request.actor,
            ),
        ),
    )
    if saved is None:
        return _form_page(request, form, status=INVALID)
    (conductor,) = saved
    return _to_models(conductor.id if conductor else None)


def _models_page(
    request: TeamRequest, found: SetupModels, prices: PricesForm, status: int = 200
) -> HttpResponse:
    context = {
        "found": found,
        "runs_tests": "run" in request.GET and found.untested > 0,
        "next": _models_url(found),
        "prices": prices,
    }
    return console_page(
        request, "console/setup_models.html", context, tab=TAB, status=status
    )


def _models_url(found: SetupModels) -> str:
    query = f"?conductor={found.conductor.id}" if found.conductor else ""
    return f"{reverse('console:setup_models')}{query}"


def _fill_prices(request: TeamRequest, found: SetupModels) -> HttpResponse:
    """Set the prices that were typed, and stay on the page."""
    form = PricesForm(request.POST, gaps=price_gaps(found))
    if form.is_valid():
        saved = try_change(
            form, lambda: (prices_fill(prices=form.prices, actor=request.actor),)
        )
        if saved:
            messages.success(request, _("The prices hold from today on."))
            return redirect(_models_url(found))
    return _models_page(request, found, form, INVALID)


def _choose(request: TeamRequest) -> HttpResponse:
    """Let the model of a worker plan."""
    worker = access_worker(request.team.id, _worker_id(request))
    conductor = conductor_add(
        team=request.team,
        provider=_provider_of(worker),
        model=worker.model,
        actor=request.actor,
    )
    return _to_models(conductor.id)


def _use(request: TeamRequest, found: SetupModels) -> HttpResponse:
    """Put what passed its test to use, and go on to the playground."""
    name = found.pool.name if found.pool else "main"
    planned = _("It plans.") if found.plans else _("It answers without plans for now.")
    ready = _("The pool %(name)s is ready. %(planned)s Ask it something.") % {
        "name": name,
        "planned": planned,
    }
    first = reverse("playground:index")
    return change_and_tell(
        request,
        lambda: pool_complete(
            team=request.team,
            workers=[row.worker for row in found.passed],
            conductor=found.conductor if found.plans else None,
            actor=request.actor,
        ),
        ready,
        asked_again_url(request) or f"{first}?sample={FIRST_PROMPT}",
    )


def _to_models(conductor_id: uuid.UUID | None) -> HttpResponse:
    chosen = f"&conductor={conductor_id}" if conductor_id else ""
    return redirect(f"{reverse('console:setup_models')}?run=1{chosen}")


def _worker_id(request: TeamRequest) -> uuid.UUID:
    worker_id = id_of(request.POST["worker"])
    if worker_id is None:
        raise InvalidInput("expected the id of a worker", param="worker")
    return worker_id


def _provider_of(worker: Worker) -> dict[str, Any]:
    return {
        "base_url": worker.base_url,
        "protocol": worker.protocol,
        "max_tokens_field": worker.max_tokens_field,
        "credential_id": worker.credential_id,
    }


def _form(request: TeamRequest, *, is_sent: bool = False) -> ModelsForm:
    credentials = list(credential_list(request.team.id))
    provider = known_provider_of(request.GET.get("provider", ""))
    return ModelsForm(
        request.POST if is_sent else None,
        initial=provider_initial(provider, credentials),
        credentials=credentials,
        is_known=provider is not None,
    )


def listed_page(
    request: TeamRequest,
    provider_id: str,
    values: Mapping[str, str],
    found: ModelsFound,
) -> HttpResponse:
    """Show the second page with the models that were just listed."""
    provider = known_provider_of(provider_id)
    credentials = list(credential_list(request.team.id))
    form = ModelsForm(
        initial={**provider_initial(provider, credentials), **values},
        credentials=credentials,
        is_known=provider is not None,
    )
    return _form_page(request, form, found=found, provider_id=provider_id)


def _form_page(
    request: TeamRequest,
    form: ModelsForm,
    *,
    provider_id: str = "",
    found: ModelsFound | None = None,
    status: int = 200,
) -> HttpResponse:
    names = form.listed_models if found is None else list(found.names)
    base_url = str(form["base_url"].value() or "").strip()
    # What was just listed has its best models marked, unless others are.
    marked = form.marked or (recommended_models(base_url, names) if found else [])
    provider_id = provider_id or request.GET.get("provider", "")
    provider = known_provider_of(provider_id)
    lists_models = provider is None or provider.lists_models
    context = {
        "form": form,
        "action": f"{reverse('console:setup')}?{urlencode({'provider': provider_id})}",
        "provider": provider,
        "lists_models": lists_models,
        "found": found,
        "names": names,
        "options": model_options(base_url, names, marked),
        "most": MAX_MODELS,
        "is_listed": bool(found or names or form.is_bound or not lists_models),
    }
    part, page = "console/_setup_models.html", "console/setup_provider.html"
    template = part if is_part(request) else page
    return console_page(request, template, context, tab=TAB, status=status)
