"""Has the vector of the prompt made before a plan, on the record, or says why not.

A vector is only a help: nothing that goes wrong with it ends a run, or costs it a plan.
"""

from __future__ import annotations

import asyncio

from apps.engine.calls import Attempt, AttemptFailed, Target
from apps.engine.context import text_tokens
from apps.engine.errors import CallFailed, CallFault, LimitReached
from apps.engine.events import PlanRequested
from apps.engine.journal import plan_call_failed, plan_replied
from apps.engine.messages import messages_json
from apps.engine.ports import Call, CallParams, Delta, Message, PoolWorker
from apps.engine.run import RunContext
from apps.engine.vectors.prompt_vectors import PromptVector, embedded_text, no_vector

VECTOR_TIME_S = 2.0
"""How long a plan waits for the vector of the prompt."""


async def prompt_vector(run: RunContext, number: int) -> PromptVector:
    """Return the vector of the prompt as models see it, for the plan of a round.

    Each prompt is asked about once in a run. Raises: what the recorder raises.
    """
    prompt = run.task.prompt
    if prompt not in run.vectors:
        run.vectors[prompt] = await _made(run, number, prompt)
    return run.vectors[prompt]


async def _made(run: RunContext, number: int, prompt: str) -> PromptVector:
    worker = run.pool.embedder
    if worker is None:
        return await _not_allowed(run)
    text = embedded_text(prompt, text_tokens(worker))
    if not text.strip():
        return PromptVector(missing="the prompt has no text")
    if run.limits.max_calls - run.meter.calls < 2:  # a step needs one
        return PromptVector(missing="the run has no call to spare")
    try:
        attempt = await _in_time(run, number, worker, text)
    except LimitReached as exc:
        return PromptVector(missing=exc.message)
    except CallFailed as exc:
        return PromptVector(missing=f"{worker.name!r} failed ({exc.fault})")
    if len(attempt.vectors) != 1:
        return PromptVector(missing=f"{worker.name!r} made no vector")
    return PromptVector(attempt.vectors[0])


async def _not_allowed(run: RunContext) -> PromptVector:
    worker = run.whole_pool.embedder
    if worker is None:
        return await no_vector()
    why = run.refused[worker.name]
    return PromptVector(missing=f"{worker.name!r} may not be used: {why}")


async def _in_time(
    run: RunContext, number: int, worker: PoolWorker, text: str
) -> Attempt:
    """Call the worker once, for a short time. Raises: CallFailed, LimitReached."""
    clock = asyncio.timeout(VECTOR_TIME_S)
    late = CallFailed(CallFault.TOTAL_TIMEOUT, f"no vector within {VECTOR_TIME_S:g} s")
    try:
        async with clock:
            attempt = await _call(run, number, worker, text)
    except TimeoutError:
        if not clock.expired():
            raise
        raise late from None  # it was not called: it had to wait for its turn
    except AttemptFailed as exc:
        is_closed = exc.failure.fault is CallFault.CANCELLED
        is_late = is_closed and clock.expired() and not _is_cancelled()
        failure = late if is_late else exc.failure
        place = (number, run.state.plan_calls)
        run.journal.post(plan_call_failed(*place, exc.attempt, failure))
        if is_closed and not is_late:
            raise asyncio.CancelledError from None
        raise failure from None
    run.journal.note(plan_replied(number, run.state.plan_calls, attempt))
    return attempt


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _call(run: RunContext, number: int, worker: PoolWorker, text: str) -> Attempt:
    messages = (Message(role="user", content=text),)

    async def announce() -> None:
        run.state.plan_calls += 1
        place = (number, run.state.plan_calls)
        sent = messages_json(messages)
        await run.journal.commit(PlanRequested(*place, sent, worker.name))

    def unseen(delta: Delta) -> None:
        pass  # a digest is nothing to watch

    call = Call(worker.name, messages, CallParams(), is_streamed=False)
    return await run.calls.call(call, Target(worker.price, 0), announce, unseen)
