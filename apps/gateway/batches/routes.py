"""Routes of files and batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apps.gateway.backend import Backend
from apps.gateway.batches.endpoints import Batches, Files
from apps.gateway.exchange import Exchange

Handlers = dict[str, Callable[[Exchange], Awaitable[None]]]


def batch_handlers(backend: Backend, wake: Callable[[], None]) -> dict[str, Handlers]:
    """Return the handlers by path and method; `wake`: as `Batches` takes it."""
    files, batches = Files(backend), Batches(backend, wake)
    return {
        "/v1/files": {"POST": files.post, "GET": files.list},
        "/v1/files/{file_id}": {"GET": files.retrieve, "DELETE": files.delete},
        "/v1/files/{file_id}/content": {"GET": files.content},
        "/v1/batches": {"POST": batches.post, "GET": batches.list},
        "/v1/batches/{batch_id}": {"GET": batches.retrieve},
        "/v1/batches/{batch_id}/cancel": {"POST": batches.cancel},
    }
