"""A look at a conductor's server: does it answer, has it the model, how busy is it.

Costs the provider nothing: it lists its models, and shows its metrics if it is a vLLM.
Nothing is recorded, because nothing changes. It is awaited on an event loop and holds
no thread while the server takes its time.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace

from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from apps.core.errors import ConductorError, NotFound
from apps.core.single_flight import SingleFlight
from apps.core.ttl_cache import TtlCache
from apps.llm.errors import LlmError
from apps.llm.http import HttpTransport, open_transport
from apps.llm.model_listing import list_models
from apps.llm.types import Endpoint, Timeouts
from apps.llm.vllm_metrics import ServerLoad, read_load
from apps.pools.selectors import access_conductor, endpoint_of
from apps.pools.slots import model_calls
from apps.pools.types import ServerLook

LOOK_LIMITS = Timeouts(connect_s=2, first_byte_s=3, idle_s=3, total_s=3)
"""A page waits for it."""
LOOK_KEPT_S = 2.0
"""However many look, a server is asked no more often than this."""
_looks: TtlCache[tuple[uuid.UUID, Endpoint], ServerLook] = TtlCache()


async def conductor_look(*, team_id: uuid.UUID, conductor_id: uuid.UUID) -> ServerLook:
    """Return how the server of a conductor is doing.

    What goes wrong at the server is in the result. Raises: NotFound, TooManyModelCalls.
    """
    try:
        endpoint = await _endpoint(team_id, conductor_id)
    except NotFound:
        raise
    except ConductorError as exc:  # the credential does not open, or not for this host
        return _failed(time.monotonic(), exc.code, exc.message)
    key = (team_id, endpoint)
    return _looks.get(key) or await _flights.get(key)


@sync_to_async
def _endpoint(team_id: uuid.UUID, conductor_id: uuid.UUID) -> Endpoint:
    row = access_conductor(team_id, conductor_id)
    return replace(endpoint_of(row), timeouts=LOOK_LIMITS)


async def _look_and_keep(key: tuple[uuid.UUID, Endpoint]) -> ServerLook:
    team_id, endpoint = key
    generation = _looks.generation
    with model_calls.slot(team_id):
        look = await _look(endpoint)
    _looks.put(key, look, generation=generation, lifetime_s=LOOK_KEPT_S)
    return look


_flights: SingleFlight[tuple[uuid.UUID, Endpoint], ServerLook] = SingleFlight(
    _look_and_keep
)


async def _look(endpoint: Endpoint) -> ServerLook:
    began = time.monotonic()
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
