"""`/v1/responses`: ask for a response, read it again, stop it, list its input."""

from __future__ import annotations

import uuid

from django.conf import settings

from apps.accounts.principal import KeyPrincipal
from apps.accounts.rights import RUN
from apps.core.errors import InvalidInput, NotFound, Overloaded
from apps.gateway.auth import authenticate, pass_rates
from apps.gateway.backend import Backend
from apps.gateway.errors import (
    ClientGone,
    MethodNotAllowed,
)
from apps.gateway.exchange import Exchange
from apps.gateway.parsing.json_body import parse_object
from apps.gateway.presets import RESPONSE, filled_request
from apps.gateway.responses.documents import (
    Origin,
    ended_document,
    given_params,
    running_document,
)
from apps.gateway.responses.ids import response_id, run_of_response
from apps.gateway.responses.input_items import input_page, read_paging
from apps.gateway.responses.previous_response import History
from apps.gateway.responses.request import read_request
from apps.gateway.responses.stream import ResponseStreamEncoder
from apps.gateway.run_handles import RemoteRun, RunHandle
from apps.gateway.run_starter import ChatTask, RunStarter
from apps.gateway.stream_sender import Streams
from apps.gateway.whole import account_headers, answer_whole
from apps.runs.types import RunRecord

TRUE_WORDS = frozenset({"true", "1", "True"})


class Responses:
    """Starts runs as responses, and finds them again by their ids."""

    def __init__(self, backend: Backend, starter: RunStarter, streams: Streams) -> None:
        self._backend = backend
        self._starter = starter
        self._streams = streams
        self._history = History(backend)

    async def post(self, exchange: Exchange) -> None:
        """Answer a request: whole, streamed, or at once with what goes on behind."""
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        filled = await filled_request(
            parse_object(raw), RESPONSE, exchange, principal, self._backend, raw
        )
        request = read_request(filled)
        messages = await self._history.conversation(principal.key, request)
        asked = request.asked(messages, max_bytes=settings.MAX_PROMPT_BYTES)
        started = await self._starter.start(exchange, principal, asked, raw)
        origin = _origin_of_request(started.run_id, asked)
        record = started.record
        if asked.is_background and started.is_joined:
            record = await self._require_record(principal, started)
        try:
            if asked.is_streamed:
                shows_progress = asked.progress_for(principal.key) == "reasoning"
                encoder = ResponseStreamEncoder(origin, shows_progress=shows_progress)
                await self._streams.send(exchange, started, encoder)
            elif asked.is_background:
                await _send_as_it_stands(exchange, origin, record)
                started.leave()
            else:
                await answer_whole(
                    exchange,
                    started,
                    lambda summary, _: ended_document(origin, summary),
                    question="input",
                )
        except ClientGone:
            started.leave()
            raise

    async def _require_record(
        self, principal: KeyPrincipal, started: RunHandle
    ) -> RunRecord:
        """Promise nothing of a run that another process may never have begun."""
        try:
            return await self._history.record(principal.key, started.run_id)
        except NotFound:
            started.leave()
            raise Overloaded(
                "the request that came first with this Idempotency-Key is about to "
                "begin its run; ask again",
                retry_after_s=1,
            ) from None

    async def retrieve(self, exchange: Exchange) -> None:
        """Answer with a response as it stands, or as a stream. Raises: NotFound."""
        principal, record = await self._find(exchange)
        origin = origin_of_record(record)
        query = exchange.query
        if "starting_after" in query:
            raise InvalidInput(
                "starting_after: a stream can only be read from its beginning",
                param="starting_after",
            )
        if query.get("stream") in TRUE_WORDS and exchange.scope["method"] == "GET":
            await self._tell_again(exchange, principal, record, origin)
        elif record.summary is None:
            document = running_document(origin, record.waits_for)
            await exchange.send_json(200, document)
        else:
            headers = account_headers(record.summary)
            document = ended_document(origin, record.summary)
            await exchange.send_json(200, document, headers)

    async def cancel(self, exchange: Exchange) -> None:
        """Stop a response and answer with what became of it. Raises: NotFound."""
        principal, record = await self._find(exchange)
        principal.require(RUN)
        if record.summary is None:
            reason = f"stopped by {principal.actor.display}"
            await self._backend.stop_run(
                principal.team_id, record.run_id, principal.actor, reason
            )
            record = await self._history.record(principal.key, record.run_id)
        if record.summary is None:
            raise Overloaded(
                f"the run of {response_id(record.run_id)} is between two processes"
            )
        origin = origin_of_record(record)
        await exchange.send_json(200, ended_document(origin, record.summary))

    async def delete(self, exchange: Exchange) -> None:
        """Refuse: the ledger keeps every run. Raises: MethodNotAllowed."""
        await self._find(exchange)
        raise MethodNotAllowed(
            "a response is a run on record, and records are kept: it can't be deleted",
            allowed="GET, HEAD",
        )

    async def input_items(self, exchange: Exchange) -> None:
        """Answer with what a response was asked, item by item. Raises: NotFound."""
        paging = read_paging(exchange.query)
        _, record = await self._find(exchange)
        await exchange.send_json(200, input_page(record, paging))

    async def _find(self, exchange: Exchange) -> tuple[KeyPrincipal, RunRecord]:
        principal = await authenticate(exchange, self._backend)
        await pass_rates(exchange, principal)
        name: str = exchange.scope["path_params"]["response_id"]
        run_id = run_of_response(name)
        if run_id is None:
            raise NotFound(f"there is no response {name[:64]!r}", param="response_id")
        try:
            record = await self._history.record(principal.key, run_id)
        except NotFound as exc:
            message = f"there is no response {name!r}"
            raise NotFound(message, param="response_id") from exc
        exchange.run_id = run_id
        return principal, record

    async def _tell_again(
        self,
        exchange: Exchange,
        principal: KeyPrincipal,
        record: RunRecord,
        origin: Origin,
    ) -> None:
        started = RunHandle(record=record, is_background=True)
        if record.summary is None:
            live = self._backend.find_run(principal.team_id, record.run_id)
            if live is None:  # another process has it, or none at the moment
                live = RemoteRun(self._backend, principal.team_id, record.run_id)
            started = RunHandle(live, is_background=True)
        encoder = ResponseStreamEncoder(
            origin, shows_progress=not origin.is_direct, is_late=True
        )
        await self._streams.send(exchange, started, encoder, is_on_record=True)


def _origin_of_request(run_id: uuid.UUID, asked: ChatTask) -> Origin:
    params = given_params(asked.params)
    return Origin(run_id, asked.model, asked.messages, params, asked.echo)


def origin_of_record(record: RunRecord) -> Origin:
    """Return what a response on record was asked with."""
    echo = record.params.get("echo") or {}
    return Origin(record.run_id, record.model, record.messages, record.params, echo)


async def _send_as_it_stands(
    exchange: Exchange, origin: Origin, record: RunRecord | None
) -> None:
    if record is None:  # it has just begun, in this process
        document = running_document(origin)
    elif record.summary is None:
        document = running_document(origin, record.waits_for)
    else:
        document = ended_document(origin, record.summary)
    await exchange.send_json(200, document)
