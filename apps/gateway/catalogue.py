"""`GET /v1/models`: the names a key may put into `model`."""

from __future__ import annotations

from typing import Any

from apps.accounts.types import KeyHolder
from apps.core.errors import NotFound
from apps.gateway.access import DIRECT_SCOPE, authenticate, pass_rates
from apps.gateway.exchange import Exchange
from apps.gateway.ports import Backend
from apps.gateway.starting import DIRECT_PREFIX

CREATED = 1_764_547_200
"""Names of pools have no birthday that a client could use, so all get the same."""


class Models:
    """The list of models, and one of them by name."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def list(self, exchange: Exchange) -> None:
        """Answer with all names the key may use."""
        holder = await self._holder(exchange)
        names = await self._names(holder)
        data = [_document(name) for name in names]
        await exchange.send_json(200, {"object": "list", "data": data})

    async def retrieve(self, exchange: Exchange) -> None:
        """Answer with one name. Raises: NotFound."""
        holder = await self._holder(exchange)
        name: str = exchange.scope["path_params"]["model_id"]
        if name not in await self._names(holder):
            raise NotFound(
                f"there is no model {name[:100]!r} that this key may use", param="model"
            )
        await exchange.send_json(200, _document(name))

    async def _holder(self, exchange: Exchange) -> KeyHolder:
        holder = await authenticate(exchange, self._backend)
        await pass_rates(exchange, holder)
        return holder

    async def _names(self, holder: KeyHolder) -> tuple[str, ...]:
        names = await self._backend.model_names(holder)
        if DIRECT_SCOPE in holder.scopes:
            return names
        return tuple(name for name in names if not name.startswith(DIRECT_PREFIX))


def _document(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": CREATED,
        "owned_by": "conductor",
    }
