"""Estimates what a run will likely cost, from its order and from past runs. Pure.

The likely cost is an average, not a maximum: about what the team's latest runs of the
same model would have cost with a prompt of this length, at the prices of today. While
there are few of them, a guess from the prices counts as one more run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from apps.engine.messages import IMAGE_TOKENS, estimate_tools, images_of
from apps.engine.plan import Plan
from apps.engine.ports import CONDUCTOR, CallParams, Messages, Pool, PoolWorker
from apps.engine.usage import (
    CHARACTERS_PER_TOKEN,
    Price,
    Usage,
    estimate_tokens,
)
from apps.planners.fixed import SingleWorkerPlanner
from apps.planners.tool_continuation import ToolContinuationPlanner
from apps.runs.planning.cost_estimates import PLAN_INPUT_TOKENS, STEP_INPUT_TOKENS
from apps.runs.planning.model_resolver import ResolvedModel

FIRST_STEPS = 2
FIRST_PLAN_TOKENS = 150
FIRST_ANSWER_TOKENS = 300
"""A guess before anything is known: the steps of a plan, and the lengths of a plan and
of the answer of a step."""
ENOUGH_RUNS = 3
"""From so many past runs, or answers, on the guess counts no more."""
CAUTION = (4, 3)
"""Input by the engine's estimate, which reserves it, to input by a provider's count."""


@dataclass(frozen=True, slots=True)
class PastCall:
    """The calls of one step, or those for the plans, of a run that completed."""

    worker: str
    """CONDUCTOR for those for the plans."""
    read: int
    written: int
    """In tokens."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run of the same model that completed."""

    asked_tokens: int
    """The estimated length of its prompt."""
    calls: tuple[PastCall, ...]
    """Those of steps in order."""


@dataclass(frozen=True, slots=True)
class OrderSize:
    """What an order asks models to read and to write."""

    read: int
    """Tokens of prompt, images and tools."""
    asked: int
    """Those of the prompt alone, as `PastRun.asked_tokens` counts them."""
    max_written: int | None
    """The longest answer that the caller takes. None: nothing is said."""


def order_size(prompt: str, params: CallParams, messages: Messages = ()) -> OrderSize:
    """Return the size of an order."""
    read = estimate_tokens(prompt) + estimate_tools(params.tools)
    read += IMAGE_TOKENS * len(images_of(messages))
    asked = -(-len(prompt) // CHARACTERS_PER_TOKEN)
    return OrderSize(read, asked, params.max_tokens)


def sole_worker(resolved: ResolvedModel) -> PoolWorker | None:
    """Return the worker that answers alone, if it is known before anything is paid."""
    planner = resolved.planner
    if not isinstance(planner, SingleWorkerPlanner | ToolContinuationPlanner):
        return None
    workers = resolved.pool.workers
    return next((w for w in workers if w.name == planner.worker), None)


def likely_cost(
    size: OrderSize, resolved: ResolvedModel, past: Sequence[PastRun]
) -> int:
    """Return what a run likely costs, in micro-dollars. Every price must be known."""
    if (worker := sole_worker(resolved)) is not None:
        written = _shortened(_usual_answer(worker, past), size)
        return _cost(worker.price, size.read, written)
    costs = [_repeated(run, size, resolved) for run in past]
    if len(costs) < ENOUGH_RUNS:
        costs.append(_guess(size, resolved))
    return -(-sum(costs) // len(costs))


def likely_step_costs(
    plan: Plan, size: OrderSize, pool: Pool, past: Sequence[PastRun]
) -> tuple[int, ...]:
    """Return what each step of a plan likely costs, in micro-dollars; 0 if not needed.

    Each worker is taken to write as much as it did on average in past runs.
    """
    costs: list[int] = []
    needed = plan.needed()
    answers: list[int] = []
    for index, step in enumerate(plan.steps):
        worker = pool.worker(step.worker)
        written = _usual_answer(worker, past)
        if plan.gives_answer(index):
            written = _shortened(written, size)
        answers.append(written)
        read = size.read + STEP_INPUT_TOKENS + sum(answers[i] for i in step.access)
        costs.append(_cost(worker.price, read, written) if index in needed else 0)
    return tuple(costs)


def _repeated(run: PastRun, size: OrderSize, resolved: ResolvedModel) -> int:
    """Return what a past run would cost with this order's prompt and today's prices."""
    longer = size.asked - run.asked_tokens
    total, last = 0, len(run.calls) - 1
    for place, call in enumerate(run.calls):
        more, less = CAUTION
        read = max(size.read, call.read * more // less + longer)
        written = _shortened(call.written, size) if place == last else call.written
        if call.worker == CONDUCTOR:
            total += _cost(_planning_price(resolved), read, written)
        else:
            total += _mean(_cost(p, read, written) for p in _prices(call, resolved))
    return total


def _planning_price(resolved: ResolvedModel) -> Price | None:
    """Return the price of what is called for a plan; None: nothing is."""
    if resolved.plans_with_model:
        return resolved.pool.conductor_price
    return None if resolved.pool.embedder is None else resolved.pool.embedder.price


def _prices(call: PastCall, resolved: ResolvedModel) -> list[Price | None]:
    """Return the price of a call's worker; those of all if it is not in the pool."""
    workers = resolved.pool.workers
    return [w.price for w in workers if w.name == call.worker] or [
        worker.price for worker in workers
    ]


def _guess(size: OrderSize, resolved: ResolvedModel) -> int:
    """Return what a run costs that takes a plan of few steps and short answers."""
    pool = resolved.pool
    total = 0
    if resolved.plans_with_model:
        written = min(FIRST_PLAN_TOKENS, pool.conductor_max_output_tokens)
        total += _cost(pool.conductor_price, size.read + PLAN_INPUT_TOKENS, written)
    if pool.embedder is not None:
        total += _cost(pool.embedder.price, size.read, 0)
    steps = min(FIRST_STEPS, resolved.limits.max_steps)
    for step in range(steps):
        written = FIRST_ANSWER_TOKENS
        if step == steps - 1:
            written = _shortened(written, size)
        read = size.read + STEP_INPUT_TOKENS + step * FIRST_ANSWER_TOKENS
        total += _mean(
            _cost(worker.price, read, min(written, worker.max_output_tokens))
            for worker in pool.workers
        )
    return total


def _usual_answer(worker: PoolWorker, past: Sequence[PastRun]) -> int:
    """Return the mean length of a worker's answers; without any, that of all."""
    lengths = list(_lengths(past, worker.name)) or list(_lengths(past))
    if len(lengths) < ENOUGH_RUNS:
        lengths.append(FIRST_ANSWER_TOKENS)
    return min(_mean(lengths), worker.max_output_tokens)


def _lengths(past: Sequence[PastRun], worker: str = "") -> Iterator[int]:
    for run in past:
        for call in run.calls:
            if call.worker != CONDUCTOR and worker in ("", call.worker):
                yield call.written


def _shortened(written: int, size: OrderSize) -> int:
    return written if size.max_written is None else min(written, size.max_written)


def _mean(amounts: Iterable[int]) -> int:
    known = list(amounts)
    return -(-sum(known) // len(known)) if known else 0


def _cost(price: Price | None, read: int, written: int) -> int:
    return price.cost_micros(Usage(read, written)) if price else 0
