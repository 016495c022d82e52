"""A look at a conductor's server: does it answer, has it the model, how busy is it.

Costs the provider nothing: it lists its models, and shows its metrics if it is a vLLM.
Nothing is recorded, because nothing changes. Call this from a thread without a running
event loop.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.core.errors import ConductorError
from apps.core.recent import Recent
from apps.llm.errors import LlmError
from apps.llm.http import HttpTransport, open_transport
from apps.llm.models import list_models
from apps.llm.types import Endpoint, Timeouts
from apps.llm.vllm import ServerLoad, read_load
from apps.pools.selectors import access_conductor, endpoint_of
from apps.pools.types import ServerLook

LOOK_LIMITS = Timeouts(connect_s=2, first_byte_s=3, idle_s=3, total_s=3)
"""A page waits for it."""
LOOK_KEPT_S = 2.0
"""However many look, a server is asked no more often than this."""
_looks: Recent[tuple[uuid.UUID, Endpoint], ServerLook] = Recent()


def conductor_look(*, team_id: uuid.UUID, conductor_id: uuid.UUID) -> ServerLook:
    """Return how the server of a conductor is doing. Raises: NotFound.

    What goes wrong at the server is in the result.
    """
    began = time.monotonic()
    row = access_conductor(team_id, conductor_id)
    try:
        endpoint = replace(endpoint_of(row), timeouts=LOOK_LIMITS)
    except ConductorError as exc:  # the credential does not open, or not for this host
        return _failed(began, exc.code, exc.message)
    known = _looks.get((team_id, endpoint))
    if known is not None:
        return known
    generation = _looks.generation
    if not connection.in_atomic_block:
        connection.close()  # a slow server must not hold one of the few
    look = asyncio.run(_look(endpoint, began))
    _looks.put((team_id, endpoint), look, generation=generation, lifetime_s=LOOK_KEPT_S)
    return look


async def _look(endpoint: Endpoint, began: float) -> ServerLook:
    async with open_transport(
        allowed_networks=settings.MODEL_NETWORKS, allowed_ports=settings.MODEL_PORTS
    ) as transport:
        loading = asyncio.create_task(_load(transport, endpoint))
        try:
            names = await list_models(transport, endpoint)
        except LlmError as exc:
            failed = _failed(began, exc.fault, exc.message)
            return replace(failed, load=await loading)
        look = ServerLook(
            looked_at=timezone.now(),
            latency_ms=_since(began),
            serves_model=endpoint.model in names if names else None,
            load=None,
        )
        return replace(look, load=await loading)


async def _load(transport: HttpTransport, endpoint: Endpoint) -> ServerLoad | None:
    try:
        return await read_load(transport, endpoint)
    except LlmError:
        return None  # most providers show none; what is wrong shows elsewhere


def _failed(began: float, code: str, message: str) -> ServerLook:
    return ServerLook(timezone.now(), _since(began), None, None, code, message)


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
