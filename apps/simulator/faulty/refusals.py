"""Errors instead of answers, once or always."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from apps.simulator import models
from apps.simulator.exchange import SimulatedExchange
from apps.simulator.problems import Kind, Problem
from apps.simulator.reply import count_prompt_tokens

MAX_REMEMBERED = 100_000
"""Requests the faults with a memory know before they start over."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answers with an error."""

    problem: Problem

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        await exchange.refuse(self.problem)


class Flaky:
    """Fails the first times it sees a request's messages, then answers."""

    def __init__(self, problem: Problem, times: int = 1) -> None:
        self._problem = problem
        self._times = times
        self._seen: dict[bytes, int] = {}

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        digest = hashlib.blake2b(repr(exchange.request.messages).encode()).digest()
        count = self._seen.get(digest, 0)
        if count >= self._times:
            await exchange.answer(models.answer_well(exchange.request, seed))
            return
        if len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
        self._seen[digest] = count + 1
        await exchange.refuse(self._problem)


async def refuse(exchange: SimulatedExchange, _seed: int) -> None:
    """Close the connection without an answer."""
    await exchange.connection.hang_up()


@dataclass(frozen=True, slots=True)
class Narrow:
    """Refuses what is longer than its context."""

    most_tokens: int
    is_always: bool = False

    async def __call__(self, exchange: SimulatedExchange, seed: int) -> None:
        found = count_prompt_tokens(exchange.request)
        if found <= self.most_tokens and not self.is_always:
            await exchange.answer(models.answer_well(exchange.request, seed))
            return
        told = max(found, self.most_tokens + 1)
        await exchange.refuse(
            Problem(
                Kind.CONTEXT_LENGTH, found_tokens=told, most_tokens=self.most_tokens
            )
        )


async def no_prefill(exchange: SimulatedExchange, seed: int) -> None:
    """Refuse the beginning of an answer."""
    if not await _refuses_prefill(exchange):
        await exchange.answer(models.answer_well(exchange.request, seed))


async def conductor_no_prefill(exchange: SimulatedExchange, seed: int) -> None:
    """Refuse the beginning of a plan."""
    if not await _refuses_prefill(exchange):
        plan = models.FIXED["sim-conductor"]
        await exchange.answer(models.ask(plan, exchange.request, seed))


async def _refuses_prefill(exchange: SimulatedExchange) -> bool:
    asked = exchange.request
    if not asked.begun and asked.messages[-1].role != "assistant":
        return False
    message = "The conversation must end with a user message."
    await exchange.refuse(Problem(Kind.BAD_REQUEST, message))
    return True


async def text_only(exchange: SimulatedExchange, seed: int) -> None:
    """Refuse images and tools."""
    asked = exchange.request
    if asked.pictures or asked.tools:
        what = "image input" if asked.pictures else "tools"
        message = f"This model does not support {what}."
        await exchange.refuse(Problem(Kind.BAD_REQUEST, message))
    else:
        await exchange.answer(models.answer_well(exchange.request, seed))
