"""`/v1/files` and `/v1/batches`.

A file or batch belongs to the key that made it; other keys of the team need the scope
`runs:read` to see it. What a key may not see is
answered with 404.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from channels.db import database_sync_to_async
from django.conf import settings

from apps.accounts.models import Scope
from apps.accounts.principal import KeyPrincipal
from apps.accounts.rights import RUN
from apps.batches.models import FilePurpose, RequestBatch, StoredFile
from apps.batches.selectors import (
    access_batch,
    access_file,
    batch_list,
    file_content,
    file_list,
    line_counts,
)
from apps.batches.services import batch_cancel, batch_create, file_delete, file_store
from apps.core.errors import InvalidInput, NotFound
from apps.core.scoping import TeamQuerySet
from apps.gateway.auth import authenticate, pass_rates
from apps.gateway.backend import Backend
from apps.gateway.batches.documents import (
    WINDOW,
    batch_document,
    file_document,
    page_document,
)
from apps.gateway.batches.ids import BATCH, FILE, row_of
from apps.gateway.batches.kinds import KINDS
from apps.gateway.batches.uploads import read_upload
from apps.gateway.exchange import Exchange
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.parsing.json_fields import read_text
from apps.gateway.parsing.metadata import read_metadata

RowT = TypeVar("RowT", StoredFile, RequestBatch)
DEFAULT_LIMIT, MAX_LIMIT = 20, 100
FORM_BYTES = 10_000
"""Of a form beside its file."""


class Files:
    """`/v1/files`: upload, list, read, delete."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def post(self, exchange: Exchange) -> None:
        """Store a file of requests."""
        principal = await _authenticate(exchange, self._backend)
        principal.require(RUN)
        raw = await exchange.read_upload(settings.MAX_FILE_BYTES + FORM_BYTES)
        kind = exchange.headers.get(b"content-type", b"").decode("latin-1")
        upload = await database_sync_to_async(read_upload)(raw, kind)
        del raw
        if upload.fields.get("purpose") != FilePurpose.BATCH:
            raise InvalidInput("purpose: expected 'batch'", param="purpose")
        if not upload.content:
            raise InvalidInput("file: the file is empty", param="file")
        file = await database_sync_to_async(file_store)(
            team_id=principal.team_id,
            api_key_id=principal.key_id,
            purpose=FilePurpose.BATCH,
            filename=upload.filename,
            content=[upload.content],
            actor=principal.actor,
        )
        await exchange.send_json(200, file_document(file))

    async def list(self, exchange: Exchange) -> None:
        """Answer with one page of files, the newest first."""
        principal = await _authenticate(exchange, self._backend)
        query = exchange.query
        rows = file_list(team_id=principal.team_id, api_key_id=_only(principal))
        if purpose := query.get("purpose"):
            rows = rows.filter(purpose=purpose)
        page = database_sync_to_async(_page)
        await exchange.send_json(200, await page(rows, query, FILE, file_document))

    async def retrieve(self, exchange: Exchange) -> None:
        """Answer with a file, without its content."""
        _, file = await self._find(exchange)
        await exchange.send_json(200, file_document(file))

    async def content(self, exchange: Exchange) -> None:
        """Answer with the content of a file."""
        _, file = await self._find(exchange)
        read = database_sync_to_async(_whole_content)
        await exchange.send_whole(200, await read(file), b"application/jsonl")

    async def delete(self, exchange: Exchange) -> None:
        """Delete a file."""
        principal, file = await self._find(exchange)
        principal.require(RUN)
        document = {"id": file_document(file)["id"], "object": "file", "deleted": True}
        await database_sync_to_async(file_delete)(file=file, actor=principal.actor)
        await exchange.send_json(200, document)

    async def _find(self, exchange: Exchange) -> tuple[KeyPrincipal, StoredFile]:
        principal = await _authenticate(exchange, self._backend)
        name = exchange.scope["path_params"]["file_id"]
        return principal, await _file(principal, name, "file_id")


class Batches:
    """`/v1/batches`: create, list, read, cancel."""

    def __init__(self, backend: Backend, wake: Callable[[], None]) -> None:
        """`wake`: tells the driver of this process that there is a new batch."""
        self._backend = backend
        self._wake = wake

    async def post(self, exchange: Exchange) -> None:
        """Accept a batch."""
        principal = await _authenticate(exchange, self._backend)
        principal.require(RUN)
        body = parse_object(await exchange.read_body(settings.MAX_REQUEST_BYTES))
        endpoint = read_text(body, "endpoint")
        if endpoint not in KINDS:
            expected = ", ".join(KINDS)
            message = f"endpoint: expected one of {expected}"
            raise InvalidInput(message, param="endpoint")
        if body.get("completion_window") != WINDOW:
            message = f"completion_window: expected {WINDOW!r}"
            raise InvalidInput(message, param="completion_window")
        name = read_text(body, "input_file_id")
        file = await _file(principal, name, "input_file_id")
        if file.purpose != FilePurpose.BATCH:
            message = "input_file_id: expected a file with the purpose 'batch'"
            raise InvalidInput(message, param="input_file_id")
        batch = await database_sync_to_async(batch_create)(
            team_id=principal.team_id,
            api_key_id=principal.key_id,
            endpoint=endpoint,
            input_file=file,
            metadata=read_metadata(body),
            actor=principal.actor,
        )
        self._wake()
        await exchange.send_json(200, await _told(batch))

    async def list(self, exchange: Exchange) -> None:
        """Answer with one page of batches, the newest first."""
        principal = await _authenticate(exchange, self._backend)
        rows = batch_list(team_id=principal.team_id, api_key_id=_only(principal))
        rows = rows.select_related("output_file", "error_file")
        page = database_sync_to_async(_page)
        told = await page(rows, exchange.query, BATCH, _batch_document)
        await exchange.send_json(200, told)

    async def retrieve(self, exchange: Exchange) -> None:
        """Answer with a batch and how far it is."""
        _, batch = await self._find(exchange)
        await exchange.send_json(200, await _told(batch))

    async def cancel(self, exchange: Exchange) -> None:
        """Begin no further request of a batch, and stop those in progress."""
        principal, batch = await self._find(exchange)
        principal.require(RUN)
        cancel = database_sync_to_async(batch_cancel)
        batch = await cancel(batch=batch, actor=principal.actor)
        self._wake()
        await exchange.send_json(200, await _told(batch))

    async def _find(self, exchange: Exchange) -> tuple[KeyPrincipal, RequestBatch]:
        principal = await _authenticate(exchange, self._backend)
        name = exchange.scope["path_params"]["batch_id"]
        row_id = row_of(BATCH, name)
        if row_id is None:
            raise NotFound(f"there is no batch {name[:64]!r}", param="batch_id")
        batch: RequestBatch = await database_sync_to_async(access_batch)(
            team_id=principal.team_id, api_key_id=_only(principal), batch_id=row_id
        )
        return principal, batch


async def _authenticate(exchange: Exchange, backend: Backend) -> KeyPrincipal:
    principal = await authenticate(exchange, backend)
    await pass_rates(exchange, principal)
    return principal


def _only(principal: KeyPrincipal) -> uuid.UUID | None:
    """Return the key whose things alone may be seen; None: those of all keys."""
    return None if Scope.READ.value in principal.key.scopes else principal.key_id


async def _file(principal: KeyPrincipal, name: str, param: str) -> StoredFile:
    row_id = row_of(FILE, name)
    try:
        if row_id is None:
            raise NotFound(f"there is no file {name[:64]!r}")
        file: StoredFile = await database_sync_to_async(access_file)(
            team_id=principal.team_id, api_key_id=_only(principal), file_id=row_id
        )
    except NotFound as exc:
        raise NotFound(exc.message, param=param) from exc
    return file


async def _told(batch: RequestBatch) -> dict[str, Any]:
    document: dict[str, Any] = await database_sync_to_async(_batch_document)(batch)
    return document


def _batch_document(batch: RequestBatch) -> dict[str, Any]:
    return batch_document(batch, line_counts(batch))


def _whole_content(file: StoredFile) -> bytes:
    return b"".join(file_content(file))


def _page(
    rows: TeamQuerySet[RowT],
    query: Mapping[str, str],
    prefix: str,
    told: Callable[[RowT], dict[str, Any]],
) -> dict[str, Any]:
    """Return a page of rows, the newest first. Raises: InvalidInput."""
    text = query.get("limit", str(DEFAULT_LIMIT))
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_LIMIT):
        message = f"limit: expected a number from 1 to {MAX_LIMIT}"
        raise InvalidInput(message, param="limit")
    if after := query.get("after"):
        row_id = row_of(prefix, after)
        if row_id is None:
            raise InvalidInput(f"after: there is no {after[:64]!r}", param="after")
        rows = rows.filter(id__lt=row_id)
    found = list(rows[: int(text) + 1])
    items = [told(row) for row in found[: int(text)]]
    return page_document(items, has_more=len(found) > len(items))
