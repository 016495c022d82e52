"""Asking a provider from a page: which models it has, and whether one answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from apps.console.forms.models import NEW_KEY, NO_KEY, ProviderForm
from apps.console.test_result_view import advice_on
from apps.core.errors import ConductorError, InvalidFields
from apps.pools.errors import ProviderFailed
from apps.pools.models import Credential, Protocol
from apps.pools.selectors import known_provider_list
from apps.pools.services import NewCredential, model_calls_have_room, models_fetch
from apps.pools.types import KnownProvider
from apps.web.formats import sentence
from apps.web.team_access import TeamRequest
from apps.web.waiting import Work, respond_after, wait_for

OTHER = "other"
"""Stands for a provider that is not among the known ones."""
MAX_KEY_NAME = 90
"""Characters; a number may be added."""


@dataclass(frozen=True, slots=True)
class ModelsFound:
    """What a provider answered when asked for its models."""

    names: tuple[str, ...] = ()
    fault: str = ""
    """Why there are none, for people."""
    advice: str = ""
    """What to do about that. Empty: nothing we know of."""


def is_part(request: HttpRequest) -> bool:
    """Say whether the page's script asks for a part of the page."""
    return request.headers.get("X-Partial") == "true"


def models_found(request: TeamRequest, data: Mapping[str, str]) -> ModelsFound:
    """Ask the provider named in the data of a form, before anything of it is saved."""
    choice = data.get("credential_id", NO_KEY)
    listing = partial(
        models_fetch,
        team_id=request.team.id,
        base_url=data.get("base_url", "").strip(),
        protocol=data.get("protocol", Protocol.OPENAI),
        credential_id=_uuid(choice),
        secret=data.get("secret", "").strip() if choice == NEW_KEY else None,
    )
    try:
        names = wait_for(request, listing)
    except InvalidFields as error:
        return ModelsFound(fault=sentence(next(iter(error.fields.values()))[0]))
    except ProviderFailed as error:
        advice = advice_on(error.fault)
        return ModelsFound(fault=sentence(error.message), advice=advice)
    except ConductorError as error:
        return ModelsFound(fault=sentence(error.message))
    if not names:
        return ModelsFound(fault="The provider names no models. Type the model's name.")
    return ModelsFound(names=tuple(names))


def after_test(
    request: TeamRequest, response: HttpResponse, test: Work
) -> HttpResponse:
    """Return the response to saving a model, to be sent once the model is tested."""
    if model_calls_have_room(request.team.id):
        return respond_after(request, response, test)
    messages.warning(
        request,
        _(
            "It was not tested: too many tests of your team are under way. Test it "
            "once one of them is done."
        ),
    )
    return response


def known_provider_of(provider_id: str) -> KnownProvider | None:
    """Return the known provider with an id, or None."""
    return next(
        (each for each in known_provider_list() if each.id == provider_id), None
    )


def provider_initial(
    provider: KnownProvider | None, credentials: Iterable[Credential]
) -> Mapping[str, Any]:
    """Return what a form begins with: where the provider is, a key that fits it."""
    if provider is None:
        return {}
    fits = (str(c.id) for c in credentials if c.is_bound_to(provider.base_url))
    unknown = NEW_KEY if provider.needs_key else NO_KEY
    return {
        "base_url": provider.base_url,
        "protocol": provider.protocol,
        "max_tokens_field": provider.max_tokens_field,
        "extra_params": list(provider.extra_params),
        "credential_id": next(fits, unknown),
    }


def new_credential(form: ProviderForm) -> NewCredential | None:
    """Return the key pasted into a valid form, named after its provider."""
    if not form.has_new_key:
        return None
    name = credential_name(form.cleaned_data["base_url"])
    return NewCredential(name=name, secret=form.cleaned_data["secret"])


def credential_name(base_url: str) -> str:
    """Return the name of a key for an address: its provider, else its host and port.

    An address of one's own network says nothing of what runs there.
    """
    parts = _parts(base_url)
    hosted = (each for each in known_provider_list() if each.needs_key)
    known = (e.name for e in hosted if _parts(e.base_url).hostname == parts.hostname)
    return next(known, parts.netloc.rpartition("@")[2])[:MAX_KEY_NAME] or "key"


def _parts(base_url: str) -> SplitResult:
    try:
        return urlsplit(base_url)
    except ValueError:
        return urlsplit("")


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
