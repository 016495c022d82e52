"""Calls models for the engine: its port over the wire protocols.

What the engine asks becomes a request of `apps.llm`, what comes back becomes the
engine's items; circuits, latencies and counts are kept on the way.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from apps.engine.errors import CallFailed, CallFault
from apps.engine.messages import text_of
from apps.engine.ports import CONDUCTOR, Call, CallEnd, Delta, ToolCallDelta
from apps.engine.usage import Usage
from apps.llm import types as wire
from apps.llm.chat import ChatClient
from apps.llm.errors import LlmError
from apps.runs.execution.circuit_breaker import (
    FAILURES,
    CircuitBreakers,
    Key,
    circuit_key,
)
from apps.runs.execution.latency_stats import LatencyStats
from apps.runs.telemetry import metrics
from apps.runs.types import VectorSink


@dataclass(frozen=True, slots=True)
class EndpointClient:
    """Calls the models of one pool."""

    client: ChatClient
    endpoints: Mapping[str, wire.Endpoint]
    team_id: uuid.UUID
    circuit_breakers: CircuitBreakers
    latencies: LatencyStats
    vectors: VectorSink | None = None
    """The receiver of vectors, if the run makes embeddings for a waiting request."""

    async def stream(self, call: Call) -> AsyncGenerator[Delta | CallEnd, None]:
        """Yield the answer, then its end; see `engine.ports.ModelClient`."""
        endpoint = self.endpoints[call.worker]
        key = circuit_key(self.team_id, endpoint)
        role = metrics.CONDUCTOR if call.worker == CONDUCTOR else metrics.WORKER
        wait = _CallTimer(
            self.latencies, key, call.is_streamed, (role, endpoint.protocol)
        )
        if rest_s := self.circuit_breakers.admit(key):
            wait.count(CallFault.CIRCUIT_OPEN)
            message = _resting(endpoint.name, rest_s)
            raise CallFailed(CallFault.CIRCUIT_OPEN, message, rests_s=rest_s)
        try:
            if endpoint.makes_embeddings:
                answer, end = await self._embed(endpoint, call)
                wait.end()
                wait.complete()
                self.circuit_breakers.succeeded(key)
                yield answer
                yield end
                return
            request = request_of(call)
            if not call.is_streamed:
                whole, finish = await self.client.complete(endpoint, request)
                wait.end()
                wait.complete()
                self.circuit_breakers.succeeded(key)
                yield _delta(whole)
                yield _end(finish)
                return
            limit = self._first_token_limit(endpoint, key, call)
            async with aclosing(self.client.stream(endpoint, request)) as stream:
                first = await _first(stream, limit, endpoint.name)
                if first is not None:
                    wait.end()
                    yield self._passed_on(first, wait, key)
                async for item in stream:
                    yield self._passed_on(item, wait, key)
        except CallFailed as exc:  # it did not begin in time
            wait.leave(exc.fault)
            exc.rests_s = self.circuit_breakers.failed(key, exc.fault)
            raise
        except LlmError as exc:
            fault = CallFault(exc.fault)
            rests_s = self.circuit_breakers.failed(key, fault)
            wait.count(fault)
            raise CallFailed(
                fault,
                exc.message,
                retry_after_s=exc.retry_after_s,
                rests_s=rests_s,
                said=exc.said,
            ) from exc
        except (GeneratorExit, asyncio.CancelledError):
            wait.leave()
            raise

    def _first_token_limit(
        self, endpoint: wire.Endpoint, key: Key, call: Call
    ) -> _FirstTokenLimit:
        """Return the configured limit, else that of its own times, else an assumed one.

        Nothing is assumed of the last worker in line: late is better than never.
        """
        times = endpoint.timeouts
        if times.first_token_s is not None:
            return _FirstTokenLimit(times.first_token_s)
        if self.latencies.is_known(key):
            return _FirstTokenLimit(self.latencies.limit_s(key))
        if times.assumed_first_token_s is None or not call.has_substitute:
            return _FirstTokenLimit(None)
        pool_s = self.latencies.pool_limit_s(self._keys_of_workers())
        limit_s = times.assumed_first_token_s if pool_s is None else pool_s
        return _FirstTokenLimit(limit_s, is_assumed=True)

    def _keys_of_workers(self) -> set[Key]:
        return {
            circuit_key(self.team_id, endpoint)
            for name, endpoint in self.endpoints.items()
            if name != CONDUCTOR and not endpoint.makes_embeddings
        }

    def _passed_on(
        self, item: wire.Delta | wire.Finish, wait: _CallTimer, key: Key
    ) -> Delta | CallEnd:
        if not isinstance(item, wire.Finish):
            return _delta(item)
        wait.complete()
        self.circuit_breakers.succeeded(key)
        return _end(item)

    async def _embed(
        self, endpoint: wire.Endpoint, call: Call
    ) -> tuple[Delta, CallEnd]:
        """Make embeddings; return what the record keeps of them. Raises: LlmError."""
        dimensions = (call.params.extra or {}).get("dimensions")
        texts = [text_of(message) for message in call.messages]
        request = wire.EmbeddingRequest(texts, dimensions)
        found = await self.client.embed(endpoint, request)
        if self.vectors is not None:
            self.vectors.vectors = found.vectors
        finish = wire.Finish("stop", found.model or endpoint.model, found.usage)
        end = replace(_end(finish), vectors=found.vectors)
        return Delta(_digest(found.vectors)), end


class _FirstTokenLimit(NamedTuple):
    """How long an answer may take to begin."""

    limit_s: float | None
    """None: as long as the whole call may."""
    is_assumed: bool = False
    """True: the worker's own times are not known."""

    @property
    def words(self) -> str:
        """Return the limit in words."""
        why = ", the limit of a worker whose times are not known yet"
        return f"{self.limit_s:g} s{why if self.is_assumed else ''}"


async def _first(
    stream: AsyncGenerator[wire.Delta | wire.Finish, None],
    limit: _FirstTokenLimit,
    name: str,
) -> wire.Delta | wire.Finish | None:
    """Return the first item; None if there is none.

    What comes before it (a role, pings) is no item. Raises: CallFailed if it does not
    come in time; what the stream raises.
    """
    clock = asyncio.timeout(limit.limit_s)
    try:
        async with clock:
            return await anext(stream, None)
    except TimeoutError:
        if not clock.expired():
            raise
        message = f"{name!r}: no first token within {limit.words}"
        raise CallFailed(CallFault.FIRST_TOKEN_TIMEOUT, message) from None


def _digest(vectors: Sequence[bytes]) -> str:
    count = len(vectors)
    numbers = len(vectors[0]) // wire.FLOAT_BYTES
    digest = hashlib.sha256(b"".join(vectors)).hexdigest()
    what = "1 embedding" if count == 1 else f"{count} embeddings"
    return f"{what} of {numbers} numbers, sha256:{digest}"


class _CallTimer:
    """The time from a call's start to its first item, and to its end."""

    __slots__ = (
        "_is_counted",
        "_is_streamed",
        "_key",
        "_labels",
        "_latencies",
        "_since",
        "is_on",
    )

    def __init__(
        self,
        latencies: LatencyStats,
        key: Key,
        is_streamed: bool,
        labels: tuple[str, str],
    ) -> None:
        """`labels`: the role and the protocol that the call is counted under."""
        self.is_on = True
        self._is_counted = False
        self._latencies = latencies
        self._key = key
        self._is_streamed = is_streamed
        self._labels = labels
        self._since = monotonic()

    def end(self) -> None:
        """Note that the first item is there."""
        self.is_on = False
        after_s = monotonic() - self._since
        self._latencies.began(self._key, is_streamed=self._is_streamed, after_s=after_s)
        if self._is_streamed:
            metrics.FIRST_SECONDS.observe(after_s, *self._labels)

    def complete(self) -> None:
        """Note that the answer is whole."""
        metrics.CALL_SECONDS.observe(monotonic() - self._since, *self._labels)
        self.count(metrics.COMPLETED)

    def count(self, outcome: str) -> None:
        """Count the call, once."""
        if not self._is_counted:
            self._is_counted = True
            metrics.CALLS.add(*self._labels, outcome)

    def leave(self, outcome: str = metrics.CLOSED) -> None:
        """Note that the rest of the answer is not needed."""
        self.count(outcome)
        if self.is_on:
            self._latencies.left(
                self._key,
                is_streamed=self._is_streamed,
                after_s=monotonic() - self._since,
            )


def request_of(call: Call) -> wire.ChatRequest:
    """Return what is asked of the model, in the words of `apps.llm`."""
    params = call.params
    return wire.ChatRequest(
        messages=call.messages,
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        top_p=params.top_p,
        stop=params.stop,
        seed=params.seed,
        response_format=params.response_format,
        tools=params.tools,
        tool_choice=params.tool_choice,
        parallel_tool_calls=params.parallel_tool_calls,
        extra=params.extra,
        is_continued=call.is_continued,
    )


def _delta(given: wire.Delta) -> Delta:
    if not given.tool_calls:
        return Delta(given.text, given.reasoning)
    calls = [
        ToolCallDelta(call.index, call.id, call.name, call.arguments)
        for call in given.tool_calls
    ]
    return Delta(given.text, given.reasoning, tuple(calls))


def _end(finish: wire.Finish) -> CallEnd:
    usage = finish.usage
    return CallEnd(
        None
        if usage is None
        else Usage(
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens,
            usage.reasoning_tokens,
        ),
        finish.finish_reason,
        finish.model,
        finish.stop_sequence,
        refusal=finish.refusal,
    )


def _resting(name: str, rest_s: float) -> str:
    return (
        f"{name!r}: failed {FAILURES} times in a row and is not asked for "
        f"{math.ceil(rest_s)} s more"
    )
