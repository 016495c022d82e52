"""Asking a provider from a page: which models it has, and whether one answers."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, QueryDict

from apps.console.forms.models import NEW_KEY, NO_KEY, ModelForm
from apps.console.hiring import NewKey
from apps.core.errors import ConductorError, InvalidFields
from apps.pools.models import Credential, Protocol
from apps.pools.selectors import preset_list
from apps.pools.services import models_fetch
from apps.pools.types import Preset


@dataclass(frozen=True, slots=True)
class ModelsFound:
    """What a provider answered when asked for its models."""

    names: tuple[str, ...] = ()
    fault: str = ""
    """Why there are none, for people."""


def is_part(request: HttpRequest) -> bool:
    """Say whether the page's script asks for a part of the page."""
    return request.headers.get("X-Partial") == "true"


def models_found(team_id: uuid.UUID, data: QueryDict) -> ModelsFound:
    """Ask the provider named in a form, before anything of it is saved."""
    choice = data.get("credential_id", NO_KEY)
    try:
        names = models_fetch(
            team_id=team_id,
            base_url=data.get("base_url", "").strip(),
            protocol=data.get("protocol", Protocol.OPENAI),
            credential_id=_uuid(choice),
            secret=data.get("secret", "").strip() if choice == NEW_KEY else None,
        )
    except InvalidFields as error:
        return ModelsFound(fault=_sentence(next(iter(error.fields.values()))[0]))
    except ConductorError as error:
        return ModelsFound(fault=_sentence(error.message))
    if not names:
        return ModelsFound(fault="The provider names no models. Type the model's name.")
    return ModelsFound(names=tuple(names))


def preset_of(preset_id: str) -> Preset | None:
    """Return the preset with an id, or None."""
    return next((each for each in preset_list() if each.id == preset_id), None)


def preset_initial(
    preset: Preset | None, credentials: Iterable[Credential]
) -> Mapping[str, Any]:
    """Return what a form begins with: where the provider is, a key that fits it."""
    if preset is None:
        return {}
    host = _host(preset.base_url)
    fits = (str(c.id) for c in credentials if c.host.rpartition(":")[0] == host)
    unknown = NEW_KEY if preset.needs_key else NO_KEY
    return {
        "base_url": preset.base_url,
        "protocol": preset.protocol,
        "max_tokens_field": preset.max_tokens_field,
        "credential_id": next(fits, unknown),
    }


def new_key(form: ModelForm) -> NewKey | None:
    """Return the key pasted into a valid form, named after its provider."""
    if not form.has_new_key:
        return None
    host = _host(form.cleaned_data["base_url"])
    known = (each.name for each in preset_list() if _host(each.base_url) == host)
    name = next(known, host) or "key"
    return NewKey(name=name[:90], secret=form.cleaned_data["secret"])


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:]


def _host(base_url: str) -> str:
    try:
        return urlsplit(base_url).hostname or ""
    except ValueError:
        return ""


def _uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
