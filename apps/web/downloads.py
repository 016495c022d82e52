"""Files that are sent piece by piece, so that a long one needs little memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from channels.db import database_sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def download(
    request: HttpRequest,
    parts: Iterator[bytes],
    *,
    name: str,
    kind: str,
    size: int | None = None,
) -> StreamingHttpResponse:
    """Return the answer with a file of `size` bytes; `kind` is its media type.

    `size` None: it is not known beforehand. The pieces are read in threads, one at a
    time, as fast as the client takes them.
    """
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if size is not None:
        headers["Content-Length"] = str(size)
    is_async = isinstance(request, ASGIRequest)
    return StreamingHttpResponse(
        _in_threads(parts) if is_async else parts,
        content_type=kind,
        headers=headers,
    )


async def _in_threads(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    read = database_sync_to_async(next)
    while (part := await read(parts, None)) is not None:
        yield part
