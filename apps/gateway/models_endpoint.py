"""`GET /v1/models`: the names a key may put into `model`."""

from __future__ import annotations

from typing import Any

from apps.accounts.models import Scope
from apps.accounts.principal import KeyPrincipal
from apps.accounts.types import KeyHolder
from apps.core.errors import NotFound
from apps.gateway.anthropic.models import (
    model_document,
    model_page,
    speaks_anthropic,
)
from apps.gateway.auth import authenticate, pass_rates
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange
from apps.gateway.model_facts import ModelFacts
from apps.runs.planning.model_resolver import is_direct

CREATED = 1_764_547_200
"""Names of pools have no birthday that a client could use, so all get the same."""


class Models:
    """The list of models, and one of them by name."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def list(self, exchange: Exchange) -> None:
        """Answer with all names the key may use, or a page for Anthropic's clients."""
        principal = await self._authenticate(exchange)
        models = await usable_models(self._backend, principal.key)
        if speaks_anthropic(exchange):
            page = model_page(tuple(models), exchange.query, CREATED)
            await exchange.send_json(200, page)
            return
        data = [_document(*model) for model in models.items()]
        await exchange.send_json(200, {"object": "list", "data": data})

    async def retrieve(self, exchange: Exchange) -> None:
        """Answer with one name. Raises: NotFound."""
        principal = await self._authenticate(exchange)
        name: str = exchange.scope["path_params"]["model_id"]
        facts = (await usable_models(self._backend, principal.key)).get(name)
        if facts is None:
            raise NotFound(
                f"there is no model {name[:100]!r} that this key may use", param="model"
            )
        is_anthropic = speaks_anthropic(exchange)
        if is_anthropic:
            await exchange.send_json(200, model_document(name, CREATED))
        else:
            await exchange.send_json(200, _document(name, facts))

    async def _authenticate(self, exchange: Exchange) -> KeyPrincipal:
        principal = await authenticate(exchange, self._backend)
        await pass_rates(exchange, principal)
        return principal


async def usable_models(backend: Backend, holder: KeyHolder) -> dict[str, ModelFacts]:
    """Return what is known of the models that a key may use, by name, in order."""
    models = await backend.models(holder)
    if Scope.DIRECT in holder.scopes:
        return models
    return {name: facts for name, facts in models.items() if not is_direct(name)}


def _document(name: str, facts: ModelFacts) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "conductor",
        **facts.document(),
    }
