"""One outbound call: metered, timed, watched, and settled however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.meter import Meter, Reservation
from apps.engine.ports import Call, CallEnd, CallParams, Delta, Messages, WorkerCaller
from apps.engine.usage import Cost, Price, Usage, estimate_tokens

_BILLED_WITHOUT_TEXT = frozenset(
    {CallFault.FIRST_BYTE_TIMEOUT, CallFault.IDLE_TIMEOUT, CallFault.TOTAL_TIMEOUT}
)
"""The provider was at work when we gave up, so it will bill the input at least."""


@dataclass(frozen=True, slots=True)
class Target:
    """Who is called, and what that costs."""

    worker: str
    price: Price | None
    max_output_tokens: int


@dataclass(slots=True)
class Attempt:
    """What one call brought, complete or not."""

    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    model: str = ""
    usage: Usage = Usage()
    cost: Cost = Cost()
    latency_ms: int = 0
    first_token_ms: int | None = None

    @property
    def cost_micros(self) -> int | None:
        """Return the cost in micro-dollars, None if the price is unknown."""
        return None if self.cost.has_unknown else self.cost.micros


class AttemptFailed(Exception):
    """A call failed after it had been reserved; carries what it brought and cost."""

    def __init__(self, failure: CallFailed, attempt: Attempt) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.attempt = attempt


class Caller:
    """Makes the calls of one run, a limited number at a time."""

    def __init__(self, caller: WorkerCaller, limits: Limits, meter: Meter) -> None:
        self._caller = caller
        self._meter = meter
        self.slots = asyncio.Semaphore(limits.max_parallel)

    def reserve(
        self, target: Target, messages: Messages, params: CallParams
    ) -> Reservation:
        """Reserve a call before it is recorded and made. Raises: LimitReached."""
        return self._meter.reserve(
            input_tokens=estimate_tokens(*(m["content"] for m in messages)),
            wanted_output=params.max_tokens or target.max_output_tokens,
            price=target.price,
            now=asyncio.get_running_loop().time(),
        )

    def release(self, held: Reservation, target: Target) -> None:
        """Give a reservation back for a call that was never made."""
        self._settle(Attempt(), held, target)

    async def perform(
        self,
        call: Call,
        target: Target,
        held: Reservation,
        on_delta: Callable[[Delta], None],
    ) -> Attempt:
        """Make the call and return its complete answer.

        Raises: AttemptFailed, also when cancelled from outside (fault "cancelled");
        the caller of this method then lets the cancellation go on.
        """
        if self._meter.is_bound:
            params = replace(call.params, max_tokens=held.output_tokens)
            call = replace(call, params=params)
        started = asyncio.get_running_loop().time()
        attempt = Attempt()
        usage: Usage | None = None
        failure: CallFailed | None = None
        try:
            usage = await self._read(call, attempt, on_delta, started)
        except CallFailed as exc:
            failure = exc
        except asyncio.CancelledError:
            failure = CallFailed(CallFault.CANCELLED, "the call was closed by us")
        attempt.latency_ms = _ms(asyncio.get_running_loop().time() - started)
        attempt.usage = usage or _estimate(call, attempt, failure)
        self._settle(attempt, held, target)
        if failure is not None:
            raise AttemptFailed(failure, attempt)
        return attempt

    async def _read(
        self,
        call: Call,
        attempt: Attempt,
        on_delta: Callable[[Delta], None],
        started: float,
    ) -> Usage | None:
        loop = asyncio.get_running_loop()
        texts: list[str] = []
        thoughts: list[str] = []
        end: CallEnd | None = None
        try:
            async with aclosing(self._caller.stream(call)) as stream:  # type: ignore[type-var]
                async for item in stream:
                    if isinstance(item, CallEnd):
                        end = item
                        continue
                    if attempt.first_token_ms is None:
                        attempt.first_token_ms = _ms(loop.time() - started)
                    if item.text:
                        texts.append(item.text)
                    if item.reasoning:
                        thoughts.append(item.reasoning)
                    on_delta(item)
        finally:
            attempt.text, attempt.reasoning = "".join(texts), "".join(thoughts)
        if end is None:
            raise CallFailed(CallFault.INCOMPLETE, "the stream ended without its end")
        attempt.finish_reason, attempt.model = end.finish_reason, end.model
        return end.usage

    def _settle(self, attempt: Attempt, held: Reservation, target: Target) -> None:
        now = asyncio.get_running_loop().time()
        attempt.cost = self._meter.settle(held, attempt.usage, target.price, now)


def _estimate(call: Call, attempt: Attempt, failure: CallFailed | None) -> Usage:
    """Estimate the usage of a call for which the provider gave none."""
    wrote = bool(attempt.text or attempt.reasoning)
    if failure and not wrote and failure.fault not in _BILLED_WITHOUT_TEXT:
        return Usage()
    read = estimate_tokens(*(m["content"] for m in call.messages))
    written = estimate_tokens(attempt.text + attempt.reasoning) if wrote else 0
    return Usage(read, written, is_estimated=True)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
