"""One HTTP request and its answer, on bare ASGI.

Owns headers, the bounded body, the request id and the timing. An answer is either one
JSON document or a stream of server-sent events, and it ends exactly once.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs

import orjson
from starlette.types import Message, Receive, Scope, Send

from apps.core.errors import InvalidInput, PayloadTooLarge
from apps.core.request_context import request_context, request_id_of
from apps.gateway.error_shape import OPENAI_ERRORS, ErrorShape
from apps.gateway.errors import (
    INTERNAL_FAILURE,
    ApiFailure,
    BodyTooSlow,
    ClientGone,
    UnsupportedBody,
)

Headers = list[tuple[bytes, bytes]]
BODY_S = 60.0
"""How long a request body may take: 16 MB over 2 Mbit/s."""
MAX_QUERY_FIELDS = 50
FORM_TYPES = (b"application/x-www-form-urlencoded", b"multipart/")
STREAM_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # Tells nginx and its relatives to pass every piece on at once.
    (b"x-accel-buffering", b"no"),
]


class Exchange:
    """A request that came in and the answer that goes out."""

    __slots__ = (
        "_is_ended",
        "_send",
        "_started_at",
        "errors",
        "extra_headers",
        "has_started",
        "headers",
        "receive",
        "request_id",
        "run_id",
        "scope",
        "status",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"").decode("latin-1")
        self.request_id = request_id_of(given).encode("ascii")
        self.run_id: uuid.UUID | None = None
        """Named in the answer's headers once the run exists."""
        self.extra_headers: Headers = []
        """Sent with the answer, whatever it will be."""
        self.errors: ErrorShape = OPENAI_ERRORS
        """How a failure is worded."""
        self.has_started = False
        self.status = 0
        """Of the answer; 0 until it has begun."""
        self._is_ended = False
        self._send = send
        self._started_at = time.perf_counter()

    @property
    def context(self) -> dict[str, str]:
        """Return the request's id, address and user agent, for the ledger."""
        client = self.scope.get("client")
        agent = self.headers.get(b"user-agent", b"").decode("latin-1")
        address = client[0] if client else ""
        return request_context(self.request_id.decode("ascii"), address, agent)

    @property
    def elapsed_s(self) -> float:
        """Return how long ago the request came."""
        return time.perf_counter() - self._started_at

    @property
    def query(self) -> dict[str, str]:
        """Return the parameters of the address; of one that comes twice, the last.

        Raises: InvalidInput if there are too many.
        """
        raw: bytes = self.scope.get("query_string", b"")
        try:
            pairs = parse_qs(raw.decode("latin-1"), max_num_fields=MAX_QUERY_FIELDS)
        except ValueError as exc:
            raise InvalidInput(
                f"the address has more than {MAX_QUERY_FIELDS} parameters"
            ) from exc
        return {name: values[-1] for name, values in pairs.items()}

    async def read_body(self, max_bytes: int) -> bytes:
        """Return the request body, which must not be declared as a form.

        Raises: UnsupportedBody; as `read_upload`.
        """
        self._refuse_foreign_body()
        return await self.read_upload(max_bytes)

    async def read_upload(self, max_bytes: int) -> bytes:
        """Return the request body, whatever it is declared as.

        Raises: PayloadTooLarge as soon as it is known to be longer than `max_bytes`,
        BodyTooSlow, ClientGone.
        """
        declared = self.headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > max_bytes:
            raise _too_large(max_bytes)
        message = await self._receive_part()
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            body += await self._read_rest(max_bytes - len(body))
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        return body

    async def _read_rest(self, max_bytes: int) -> bytes:
        """Return what else comes of the body, or a little more than is allowed of it.

        Raises: BodyTooSlow, ClientGone.
        """
        parts, size, has_more = [], 0, True
        try:
            async with asyncio.timeout(BODY_S):
                while size <= max_bytes and has_more:
                    message = await self._receive_part()
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    has_more = message.get("more_body", False)
        except TimeoutError as exc:
            raise BodyTooSlow(
                f"the request body did not come within {BODY_S:g} s"
            ) from exc
        return b"".join(parts)

    async def send_json(
        self, status: int, document: object, headers: Headers | None = None
    ) -> None:
        """Answer with one JSON document."""
        body = orjson.dumps(document)
        await self.send_whole(status, body, b"application/json", headers)

    async def send_whole(
        self,
        status: int,
        body: bytes,
        content_type: bytes,
        headers: Headers | None = None,
    ) -> None:
        """Answer with a body in one piece."""
        head = [
            (b"content-type", content_type),
            (b"content-length", b"%d" % len(body)),
            *self._common_headers(),
        ]
        await self._start(status, head if headers is None else head + headers)
        await self.send_piece(
            b"" if self.scope["method"] == "HEAD" else body, is_last=True
        )

    async def send_failure(
        self, failure: ApiFailure, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        """Answer with an error, or end the stream with one if it has begun.

        The stream then has no end marker, which would promise a complete answer.
        """
        if self._is_ended:
            return
        request_id = self.request_id.decode("ascii")
        if self.has_started:
            event = self.errors.event(failure, request_id)
            await self.send_piece(event, is_last=True)
        else:
            status = self.errors.status(failure)
            document = self.errors.document(failure, request_id)
            await self.send_json(status, document, [*failure.headers(), *headers])

    async def send_internal_failure(self) -> None:
        """Answer that the server failed, without a detail."""
        await self.send_failure(INTERNAL_FAILURE)

    async def start_stream(self) -> None:
        """Send the head of a stream of server-sent events."""
        await self._start(200, STREAM_HEADERS + self._common_headers())

    async def send_piece(self, body: bytes, *, is_last: bool = False) -> None:
        """Send a piece of the body; returns when the transport has room for more."""
        self._is_ended = is_last
        await self._emit(
            {"type": "http.response.body", "body": body, "more_body": not is_last}
        )

    async def watch_disconnect(self, on_disconnect: Callable[[], Any]) -> None:
        """Wait for the client to go away, then call `on_disconnect`. Run as a task."""
        while (await self.receive())["type"] != "http.disconnect":
            pass
        on_disconnect()

    async def _start(self, status: int, headers: Headers) -> None:
        self.has_started = True
        self.status = status
        await self._emit(
            {"type": "http.response.start", "status": status, "headers": headers}
        )

    async def _emit(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError as exc:  # how ASGI tells that the connection is closed
            raise ClientGone from exc

    def _common_headers(self) -> Headers:
        elapsed_ms = int(self.elapsed_s * 1000)
        headers = [
            (b"x-request-id", self.request_id),
            (b"openai-processing-ms", b"%d" % elapsed_ms),
        ]
        if self.errors.request_id_header:
            headers.append((self.errors.request_id_header, self.request_id))
        if self.run_id is not None:
            headers.append((b"x-conductor-run-id", str(self.run_id).encode()))
        return headers + self.extra_headers if self.extra_headers else headers

    async def _receive_part(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        return message

    def _refuse_foreign_body(self) -> None:
        kind = self.headers.get(b"content-type", b"").lower()
        if kind.startswith(FORM_TYPES):
            raise UnsupportedBody(
                f"the body is declared as {kind.decode('latin-1').split(';')[0]!r}; "
                "send JSON with the header 'Content-Type: application/json'"
            )
        encoding = self.headers.get(b"content-encoding", b"identity").lower()
        if encoding not in (b"identity", b""):
            raise UnsupportedBody(
                f"the body is encoded as {encoding.decode('latin-1')!r}; send it plain"
            )


def _too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"the request body is longer than {max_bytes} bytes")
