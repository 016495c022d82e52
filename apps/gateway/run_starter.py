"""From a checked request to a run: rates, scopes, continuation, idempotency.

Chat completions, responses and messages all begin here, and only here.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from apps.accounts.principal import KeyPrincipal
from apps.accounts.types import KeyHolder, ProgressWord
from apps.budgets.rate_limits import Admission
from apps.core.data_classes import data_class_read, highest
from apps.core.errors import Overloaded
from apps.engine.ports import CallParams, Messages
from apps.gateway.auth import require_admitted
from apps.gateway.backend import Backend
from apps.gateway.exchange import Exchange
from apps.gateway.idempotency import Begin, KeyedRuns, idempotency_key
from apps.gateway.request_pacing import AdmissionQueue
from apps.gateway.run_handles import RunHandle, begun
from apps.gateway.tool_calls import continued_run, run_of
from apps.runs.admission import ordered_by, run_admit_on_loop
from apps.runs.planning.model_resolver import is_direct
from apps.runs.types import (
    UNRESTRICTED,
    Delivery,
    LiveRun,
    PresetUse,
    RunOrder,
    RunRecord,
    RunRestrictions,
    VectorSink,
)

SOURCE = "api"
CLASS_HEADER = "X-Conductor-Data-Class"
"""What the caller says of the prompt, for clients that cannot add a field."""


@dataclass(frozen=True, slots=True)
class ChatTask:
    """What a request asks for, checked; the same for every way of asking."""

    model: str
    prompt: str
    messages: Messages = ()
    """Empty: there is nothing but `prompt`."""
    prompt_field: str = "messages"
    """The field of the request that held the prompt, for errors about it."""
    params: CallParams = field(default_factory=CallParams)
    is_streamed: bool = False
    delivery: Delivery | None = None
    """None: as the key or the tier says."""
    progress: ProgressWord | None = None
    """None: as the key says."""
    restrictions: RunRestrictions = UNRESTRICTED
    ignored: str = ""
    """Names of the fields that had no effect, for the ledger."""
    is_background: bool = False
    """True: the run goes on when its client leaves."""
    echo: Mapping[str, Any] = field(default_factory=dict)
    """What the answer gives back of its request."""
    answered: str = ""
    """A tool call whose result the last turn holds. Empty: the messages tell."""
    family: str = ""
    """Of tasks, as the request names it. Empty: it names none."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the caller says of the run, to find it by."""
    preset: PresetUse | None = None
    """What made the messages. None: no preset."""
    is_repeat: bool = False
    """True: its key stands for a run, so it begins none."""
    vectors: VectorSink | None = None
    """Where the vectors go that are asked for. None: an answer is."""

    def progress_for(self, holder: KeyHolder) -> ProgressWord:
        """Return how a stream tells the holder of a key what the run is doing.

        A direct call has no plan that would be worth a line.
        """
        wanted = self.progress or holder.progress or "reasoning"
        return "off" if wanted == "reasoning" and is_direct(self.model) else wanted


class RunStarter:
    """Starts runs, or finds those that the same request has started before."""

    def __init__(self, backend: Backend, admission_queue: AdmissionQueue) -> None:
        self._backend = backend
        self._admission_queue = admission_queue
        self._keyed = KeyedRuns(backend)

    async def start(
        self,
        exchange: Exchange,
        principal: KeyPrincipal,
        asked: ChatTask,
        raw_body: bytes,
    ) -> RunHandle:
        """Return the run of a request.

        To stop waiting for it, call `RunHandle.leave`. Raises: NotAllowed,
        RateLimited, InvalidInput, IdempotencyConflict; what `Backend.start_run` raises.
        """
        key = idempotency_key(exchange)
        admission = await run_admit_on_loop(principal, asked.model, asked.prompt)
        require_admitted(exchange, admission)
        asked = _with_stated_class(asked, exchange)
        order = await _order(self._backend, principal, admission, asked)
        begin = self._begin_of(asked)
        if key is None:
            started = begun(await begin(order, None))
        else:
            digest = request_digest(exchange, principal, raw_body)
            started = await self._keyed.start(order, key, digest, begin)
        started.is_background = asked.is_background
        exchange.run_id = started.run_id
        if ignored := started.ignored or asked.ignored:
            exchange.extra_headers = [
                *exchange.extra_headers,
                (b"x-conductor-ignored", ignored.encode()),
            ]
        if started.is_joined:
            exchange.extra_headers = [
                *exchange.extra_headers,
                (b"idempotent-replayed", b"true"),
            ]
        return started

    def _begin_of(self, asked: ChatTask) -> Begin:
        # Who does not stay with a run must find it when they come back. A stream waits
        # for the record by itself, and must not miss what happens until then.
        if asked.is_background and not asked.is_streamed:
            begin: Begin = self._backend.start_detached
        else:
            begin = self._backend.start_run

        async def begin_in_turn(
            order: RunOrder, run_id: uuid.UUID | None
        ) -> LiveRun | RunRecord:
            if asked.is_repeat:
                raise Overloaded(
                    "the client that had begun this run left; ask again",
                    retry_after_s=1,
                )
            await self._admission_queue.enter(order.team_id)
            return await begin(order, run_id)

        return begin_in_turn


def request_digest(
    exchange: Exchange, principal: KeyPrincipal, raw_body: bytes
) -> bytes:
    """Return what tells a request with an idempotency key from another one."""
    # Another API key may be allowed less: it is not told what this one asked.
    head = f"{exchange.scope['path']}\n{principal.key_id}\n".encode()
    head += exchange.headers.get(CLASS_HEADER.lower().encode(), b"")
    return hashlib.sha256(head + raw_body).digest()


async def order_alone(
    backend: Backend, principal: KeyPrincipal, asked: ChatTask
) -> RunOrder:
    """Return the order of a request that no client waits for, like one of a batch.

    Raises: NotAllowed, RateLimited.
    """
    admission = await run_admit_on_loop(principal, asked.model, asked.prompt)
    admission.require()
    return await _order(backend, principal, admission, asked)


def _with_stated_class(asked: ChatTask, exchange: Exchange) -> ChatTask:
    """Return the task with the data class of the header, if that is the higher one.

    Raises: InvalidInput.
    """
    given = exchange.headers.get(CLASS_HEADER.lower().encode())
    if given is None:
        return asked
    word = given.decode("latin-1").strip().lower()
    named = data_class_read(word, param=CLASS_HEADER)
    stated = asked.restrictions.data_class
    if stated is not None:
        named = highest((named, data_class_read(stated, param=CLASS_HEADER)))
    return replace(asked, restrictions=replace(asked.restrictions, data_class=named))


async def _asking_worker(backend: Backend, team_id: uuid.UUID, asked: ChatTask) -> str:
    named = run_of(asked.answered) if asked.answered else None
    run_id = named or continued_run(asked.messages)
    if run_id is None:
        return ""
    return await backend.asking_worker(team_id, run_id)


async def _order(
    backend: Backend, principal: KeyPrincipal, admission: Admission, asked: ChatTask
) -> RunOrder:
    return RunOrder(
        **ordered_by(principal, admission),
        prompt=asked.prompt,
        model=asked.model,
        source=SOURCE,
        prompt_field=asked.prompt_field,
        params=asked.params,
        is_streamed=asked.is_streamed,
        is_watched=asked.is_streamed,
        ignored=asked.ignored,
        restrictions=asked.restrictions,
        messages=asked.messages,
        continues=await _asking_worker(backend, principal.team_id, asked),
        delivery=asked.delivery or principal.key.delivery,
        echo=asked.echo,
        vectors=asked.vectors,
        family=asked.family,
        metadata=asked.metadata,
        preset=asked.preset,
    )
