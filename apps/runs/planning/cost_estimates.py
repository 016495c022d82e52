"""Estimates the cost of a run from the prices of its pool. Pure arithmetic, no ORM.

The range is for a run in which nothing goes wrong: one plan for each round, each step
answered at the first try. Re-plans and retries can cost more than its upper end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from apps.engine.messages import IMAGE_TOKENS, estimate_tools, images_of
from apps.engine.plan import Plan
from apps.engine.ports import CallParams, Messages, Pool, PoolWorker
from apps.engine.usage import Price, Usage, estimate_tokens
from apps.runs.planning.model_resolver import ResolvedModel

PLAN_INPUT_TOKENS = 1_500
"""Instructions and examples around the prompt that the conductor reads."""
STEP_INPUT_TOKENS = 200
"""Instructions around the prompt that a worker reads."""
SHORT_TOKENS = 100
"""A short plan, and a short answer."""
TYPICAL_STEPS = 3
TYPICAL_TOKENS = 800
"""Of the answer of a step that is no short one, and of none that is long."""


class PriceRange(NamedTuple):
    """Micro-dollars."""

    low: int
    """A short plan, then one short answer of the cheapest worker."""
    high: int
    """Every round and step the limits allow, each answer as long as the dearest worker
    may write, and read by all later steps of its round."""
    typical: int
    """Most runs cost less: one plan of a few steps, each with a short text of the
    dearest worker, and read by all later ones. At most `high`."""


def unpriced(resolved: ResolvedModel) -> list[str]:
    """Return the models of a run whose price is unknown, in words."""
    names = [f"worker {w.name!r}" for w in resolved.pool.workers if w.price is None]
    if resolved.plans_with_model and resolved.pool.conductor_price is None:
        names.append("the conductor")
    return names


def price_range(
    prompt: str, params: CallParams, resolved: ResolvedModel, messages: Messages = ()
) -> PriceRange | None:
    """Return what a run may cost; None if a price is missing.

    Every worker is taken to read all images, and the tools.
    """
    if unpriced(resolved):
        return None
    tokens = estimate_tokens(prompt) + estimate_tools(params.tools)
    tokens += IMAGE_TOKENS * len(images_of(messages))
    workers, limits = resolved.pool.workers, resolved.limits
    low = min(_answer(worker, tokens, params) for worker in workers)
    high = max(_round(worker, tokens, limits.max_steps, params) for worker in workers)
    typical = max(
        _typical(worker, tokens, limits.max_steps, params) for worker in workers
    )
    if resolved.plans_with_model and (price := resolved.pool.conductor_price):
        longest = resolved.pool.conductor_max_output_tokens
        read = tokens + PLAN_INPUT_TOKENS
        low += _cost(price, tokens, min(SHORT_TOKENS, longest))
        high += _cost(price, read, longest)
        typical += _cost(price, read, min(TYPICAL_TOKENS, longest))
    high *= limits.max_rounds
    if embedder := resolved.pool.embedder:  # without a price it is not called
        high += _cost(embedder.price, tokens, 0)
    return PriceRange(low, high, min(typical, high))


def plan_price(
    plan: Plan, prompt: str, params: CallParams, pool: Pool, messages: Messages = ()
) -> int | None:
    """Return what the steps of a plan may cost at most, in micro-dollars.

    Each worker is taken to write as much as it may, once. None: a price is missing.
    """
    prices = step_prices(plan, prompt, params, pool, messages)
    return None if prices is None else sum(prices)


def step_prices(
    plan: Plan, prompt: str, params: CallParams, pool: Pool, messages: Messages = ()
) -> tuple[int, ...] | None:
    """Return the same of each step."""
    tokens = estimate_tokens(prompt) + IMAGE_TOKENS * len(images_of(messages))
    prices: list[int] = []
    last = len(plan.steps) - 1
    longest: list[int] = []
    for index, step in enumerate(plan.steps):
        worker = next((w for w in pool.workers if w.name == step.worker), None)
        if worker is None or worker.price is None:
            return None
        written = worker.max_output_tokens
        read = tokens + STEP_INPUT_TOKENS + sum(longest[i] for i in step.access)
        if index == last:
            written = min(written, params.max_tokens or written)
            read += estimate_tools(params.tools)
        longest.append(written)
        prices.append(_cost(worker.price, read, written))
    return tuple(prices)


def _answer(worker: PoolWorker, tokens: int, params: CallParams) -> int:
    longest = min(worker.max_output_tokens, params.max_tokens or SHORT_TOKENS)
    return _cost(worker.price, tokens, min(SHORT_TOKENS, longest))


def _typical(worker: PoolWorker, tokens: int, steps: int, params: CallParams) -> int:
    shorter = replace(
        worker, max_output_tokens=min(worker.max_output_tokens, TYPICAL_TOKENS)
    )
    return _round(shorter, tokens, min(steps, TYPICAL_STEPS), params)


def _round(worker: PoolWorker, tokens: int, steps: int, params: CallParams) -> int:
    """Return the cost of a round whose every step reads all earlier answers."""
    longest = worker.max_output_tokens
    inner = sum(
        _cost(worker.price, tokens + STEP_INPUT_TOKENS + step * longest, longest)
        for step in range(steps - 1)
    )
    read = tokens + STEP_INPUT_TOKENS + (steps - 1) * longest
    last = min(longest, params.max_tokens or longest)
    return inner + _cost(worker.price, read, last)


def _cost(price: Price | None, read: int, written: int) -> int:
    return price.cost_micros(Usage(read, written)) if price else 0
