"""The conductor that ships: its plans for the simulated benchmark, and their time.

    python -m bench.tiny_conductor [--weights FILE]

The product's planner asks it, with the cards of light planners that learned from other
runs than those whose plans it was fitted on; its plans are scored exactly. Nothing was
chosen on these questions, which are those of `bench.learning`. Keeps the figures of the
file that ships, and prints those of another. Computes in one thread; set
`OPENBLAS_NUM_THREADS=1`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from apps.engine.errors import PlanRejected
from apps.engine.ports import CallParams, ConductorReply, Messages
from apps.planners.language_model import LanguageModelPlanner
from apps.planners.light.model import LightModel
from apps.planners.worker_cards import (
    Cards,
    in_order_of_cards,
    measured_cards,
    priced_cards,
)
from apps.simulator.benchmark.workers import ROSTERS, BenchWorker
from apps.simulator.request import ChatMessage, SimulatedRequest
from apps.simulator.tiny_conductor.generation import Generation, LanguageModel
from apps.simulator.tiny_conductor.serving import SHIPPED
from bench.conductor_scores import reply_figures
from bench.figures import keep, say
from bench.learning import POOLS, learned
from bench.learning_scores import HELD_OUT, Held, baseline_figures, held_out, planned
from bench.learning_world import request

RUNS = (1_600, 5_000)
"""Logged runs of a light planner: as the demo's training has them, and many."""
SEEDS = (100, 101)
"""Of these runs."""
ROSTER = ROSTERS["strong"]
UNKNOWN = 2
"""Workers of six that nothing was measured of, where some are not."""
NOTHING, SOME, EXCHANGED = "nothing measured", "two not measured", "skills exchanged"


@dataclass
class Asked:
    """A model that is asked for plans, and what that took."""

    model: LanguageModel
    replies: list[str] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    prompt_tokens: list[int] = field(default_factory=list)
    new_tokens: list[int] = field(default_factory=list)

    async def __call__(self, messages: Messages, params: CallParams) -> ConductorReply:
        """Answer as the simulator does, without HTTP."""
        chat = tuple(ChatMessage(m["role"], str(m["content"])) for m in messages)
        began = time.process_time()
        asked = SimulatedRequest("", chat, max_tokens=params.max_tokens)
        generation = Generation(self.model, asked)
        while not generation.is_done:
            generation.step()
        self.cpu_ms.append(1000 * (time.process_time() - began))
        self.prompt_tokens.append(generation.usage.prompt)
        self.new_tokens.append(generation.usage.completion)
        reply = generation.reply
        self.replies.append(reply.text)
        return ConductorReply(reply.text, reply.finish_reason)


@dataclass(frozen=True, slots=True)
class _Case:
    """What cards show, and whose cards they are."""

    name: str
    light: LightModel
    roster: Sequence[BenchWorker] = ROSTER


def main() -> None:
    """Measure, and keep the figures if they are those of the file that ships."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, default=SHIPPED)
    path: Path = parser.parse_args().weights
    model = LanguageModel.load(path)
    cases = [case for seed in SEEDS for case in _cases(seed)]
    rows = {pool: _measured(model, cases, pool) for pool in POOLS}
    if path == SHIPPED:
        figures = {
            "rounds": len(SEEDS),
            "held_out": HELD_OUT,
            "weights": hashlib.sha256(path.read_bytes()).hexdigest(),
            "baselines": {p: baseline_figures(held_out(ROSTER, p)) for p in POOLS},
            "cards": rows,
        }
        keep("tiny_conductor", figures)


def _measured(
    model: LanguageModel, cases: Sequence[_Case], pool: str
) -> dict[str, list[dict[str, Any]]]:
    """Return the figures by what the cards show, one for each light planner.

    `teacher` has those of the light planner itself.
    """
    rows = {NOTHING: [conducted(model, held_out(ROSTER, pool), priced_cards)]}
    for case in cases:
        held = held_out(case.roster, pool)
        row = conducted(model, held, measured_cards(case.light))
        row["teacher"] = planned(case.light, held)
        rows.setdefault(case.name, []).append(row)
    for name, found in rows.items():
        right = [round(row["success"], 3) for row in found]
        valid = [round(row["valid"], 3) for row in found]
        say(f"  {pool}, {name}: right {right}, valid {valid}")
    return rows


def _cases(seed: int) -> Iterator[_Case]:
    for runs in RUNS:
        light = learned(ROSTER, runs, seed).model
        yield _Case(f"{runs:,} runs", light)
        if runs == RUNS[0]:
            yield _Case(SOME, without(light, seed))
    roster = exchanged(ROSTER, seed)
    yield _Case(EXCHANGED, learned(roster, RUNS[0], seed).model, roster)


def without(model: LightModel, seed: int) -> LightModel:
    """Return what a light planner would be that does not know some of the workers."""
    chance = random.Random(f"unknown workers {seed}")  # nosec B311
    gone = chance.sample(model.workers, UNKNOWN)
    names = (f"not {name}" if name in gone else name for name in model.workers)
    return replace(model, workers=tuple(names))


def exchanged(roster: Sequence[BenchWorker], seed: int) -> tuple[BenchWorker, ...]:
    """Return workers that have the name and price of another one each."""
    chance = random.Random(f"exchanged workers {seed}")  # nosec B311
    others = chance.sample(roster, len(roster))
    return tuple(
        replace(worker, name=other.name, price=other.price)
        for worker, other in zip(roster, others, strict=True)
    )


def conducted(model: LanguageModel, held: Held, cards: Cards) -> dict[str, Any]:
    """Return the figures of plans; one that is refused is wrong, at no cost.

    `plan_ms` is the median and the 95th percentile of CPU time, in milliseconds.
    """
    planner = LanguageModelPlanner(cards=cards)
    asked = Asked(model)
    numbered: list[Sequence[BenchWorker]] = []
    for task, workers in zip(held.tasks, held.pools, strict=True):
        wanted = request(task.question, workers)
        with suppress(PlanRejected):  # the reply is scored, whatever became of it
            asyncio.run(planner.plan(wanted, asked))
        by_name = {worker.name: worker for worker in workers}
        pool = in_order_of_cards(wanted.task, wanted.pool, cards)
        numbered.append([by_name[name] for name in pool.names])
    parts = statistics.quantiles(asked.cpu_ms, n=20)
    return {
        **reply_figures(asked.replies, Held(held.tasks, numbered)),
        "plan_ms": [statistics.median(asked.cpu_ms), parts[-1]],
        "prompt_tokens": statistics.fmean(asked.prompt_tokens),
        "new_tokens": statistics.fmean(asked.new_tokens),
    }


if __name__ == "__main__":
    main()
