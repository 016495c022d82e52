"""Set-up from one field: a provider's key, or the address of a server.

The key tells whose it is. It is stored once the provider has listed its models with it,
and the best suited of these are marked on the wizard's second page.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.accounts.models import Permission
from apps.console.forms.models import NEW_KEY, NO_KEY
from apps.console.layout import require
from apps.console.provider_lookup import OTHER, credential_name, models_found
from apps.console.setup.asked_run import asked_run_note
from apps.console.setup.views import UNKNOWN, listed_page
from apps.core.errors import ConductorError
from apps.pools.models import Protocol
from apps.pools.selectors import provider_of_key
from apps.pools.services import credential_keep
from apps.web.formats import sentence
from apps.web.team_access import TeamRequest, team_view

MAX_ACCESS = 4_000
"""Characters of a key or an address."""


@require_POST
@team_view
def setup_connect(request: TeamRequest) -> HttpResponseBase:
    """Show the models of whoever a key or an address belongs to."""
    require(request, Permission.MANAGE_POOLS)
    access = request.POST.get("access", "").strip()[:MAX_ACCESS]
    asked_run_note(request)
    found = _server(access) or _provider(access)
    if found is None:
        return redirect(f"{reverse('console:setup')}?access={UNKNOWN}")
    provider_id, data = found
    listed = models_found(request, data)
    kept = {name: value for name, value in data.items() if name != "secret"}
    if listed.names and data["credential_id"] == NEW_KEY:
        try:
            kept["credential_id"] = _stored(request, data)
        except ConductorError as error:
            messages.error(request, sentence(error.message))
            return redirect("console:setup")
    return listed_page(request, provider_id, kept, listed)


def _server(access: str) -> tuple[str, Mapping[str, str]] | None:
    """Return the form of a server at an address; None: the text is no address."""
    try:
        parts = urlsplit(access)
    except ValueError:  # such as a bracket that nothing closes
        return None
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return None
    base_url = access if parts.path.strip("/") else f"{access.rstrip('/')}/v1"
    protocol = str(Protocol.OPENAI)
    return OTHER, {
        "base_url": base_url,
        "protocol": protocol,
        "credential_id": NO_KEY,
    }


def _provider(key: str) -> tuple[str, Mapping[str, str]] | None:
    """Return the form of the provider of a key; None: it cannot be told."""
    provider = provider_of_key(key)
    if provider is None:
        return None
    return provider.id, {
        "base_url": provider.base_url,
        "protocol": str(provider.protocol),
        "credential_id": NEW_KEY,
        "secret": key,
    }


def _stored(request: TeamRequest, data: Mapping[str, str]) -> str:
    """Store a key that works, and return the id of the credential that holds it."""
    values = {
        "name": credential_name(data["base_url"]),
        "base_url": data["base_url"],
        "secret": data["secret"],
    }
    row = credential_keep(team=request.team, values=values, actor=request.actor)
    return str(row.id)
