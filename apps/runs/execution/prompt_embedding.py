"""Makes the vectors of prompts outside of runs, for what learns from prompts on record.

Each prompt passes the policies as it would at the beginning of a run, and is sent as a
run would send it. Nothing of it is recorded here, so that erasing the run that it is
from leaves no copy: the training records what the calls cost.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from apps.core.ids import new_id
from apps.engine.calls import Attempt, AttemptFailed, ModelCalls, Target
from apps.engine.errors import CallFailed, LimitReached, RunDenied
from apps.engine.gate import Gate
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.ports import (
    Call,
    CallParams,
    Delta,
    Message,
    ModelClient,
    PoolWorker,
    Task,
)
from apps.engine.steps import wait_s
from apps.engine.vectors.prompt_vectors import embedded_text
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import EmbeddedPrompts, RunOrder

_jitter = random.Random()  # nosec B311
"""Spreads retries; guards nothing."""


class GateMaker(Protocol):
    """Makes the gate of a run, as `executor.Gates`."""

    def gate(self, run_id: UUID, order: RunOrder, resolved: ResolvedModel) -> Gate:
        """Return the gate of one run. Does not block."""
        ...


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the calls for one batch ended."""

    vectors: tuple[bytes, ...] = ()
    failure: str = ""
    is_limit: bool = False


async def prompts_embedded(
    orders: Sequence[RunOrder],
    resolved: ResolvedModel,
    client: ModelClient,
    gates: GateMaker,
    max_cost_micros: int | None,
) -> EmbeddedPrompts:
    """Return the vectors of the prompts of some orders, with one call and its retries.

    All orders ask the same embedding worker. What goes wrong with the calls is in the
    result.
    """
    texts: dict[str, str] = {}
    for order in orders:
        text = await _allowed(order, resolved, gates)
        if text is not None:
            texts[order.prompt] = text
    limits = Limits(max_cost_micros=max_cost_micros)
    meter = Meter(limits)
    ended = _Ended()
    if texts:
        calls = ModelCalls(client, limits, meter)
        ended = await _asked(
            calls, resolved.pool.workers[0], list(texts.values()), limits
        )
    return EmbeddedPrompts(
        dict(zip(texts, ended.vectors, strict=True)) if ended.vectors else {},
        meter.usage,
        meter.cost,
        ended.failure,
        is_limit=ended.is_limit,
    )


async def _allowed(
    order: RunOrder, resolved: ResolvedModel, gates: GateMaker
) -> str | None:
    """Return what the worker may be sent of a prompt; None: nothing."""
    gate = gates.gate(new_id(), order, resolved)
    task, worker = Task(order.prompt), resolved.pool.workers[0].name
    decision = await gate.check_run()
    if decision is not None:
        if decision.outcome == "denied" or worker in decision.refused_workers:
            return None
        try:
            task = gate.redact(task, decision.redacts)
        except RunDenied:
            return None
    return embedded_text(task.prompt, resolved.text_tokens).strip() or None


async def _asked(
    calls: ModelCalls, worker: PoolWorker, texts: Sequence[str], limits: Limits
) -> _Ended:
    messages = tuple(Message(role="user", content=text) for text in texts)
    call = Call(worker.name, messages, CallParams(), is_streamed=False)
    target = Target(worker.price, 0)
    for failures in range(1, limits.max_attempts + 1):
        try:
            attempt = await calls.call(call, target, _unannounced, _unseen)
            return _checked(attempt, worker, len(texts))
        except LimitReached as exc:
            return _Ended(failure=exc.message, is_limit=True)
        except AttemptFailed as exc:
            failed = exc.reason()
            if not isinstance(failed, CallFailed):
                raise failed from None
            if not failed.is_transient or failures == limits.max_attempts:
                return _Ended(failure=f"{worker.name!r} failed: {failed.message}")
            await asyncio.sleep(wait_s(limits, _jitter, failures, failed))
    raise AssertionError("the last attempt returns")


def _checked(attempt: Attempt, worker: PoolWorker, texts: int) -> _Ended:
    if len(attempt.vectors) != texts:
        made = len(attempt.vectors)
        return _Ended(failure=f"{worker.name!r} made {made} vectors of {texts} texts")
    return _Ended(attempt.vectors)


async def _unannounced() -> None:
    pass


def _unseen(delta: Delta) -> None:
    pass
