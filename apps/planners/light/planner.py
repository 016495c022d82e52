"""The light planner: plans by search over what was learned, in milliseconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import Plan
from apps.engine.ports import Ask, PlanRequest, Pool, PoolWorker, Task
from apps.engine.suitability import unsuited
from apps.planners.light.explanation import Explanation, explained, in_words
from apps.planners.light.model import LightModel
from apps.planners.light.search import (
    Abilities,
    PlanCandidate,
    best_candidates,
    most_useful,
)
from apps.planners.light.templates import template_plan
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import Prices, prompt_tokens

COST_WEIGHT = 0.04
"""Success that one answer of the dearest worker has to be worth, unless set."""
FAMILIAR = 0.5
"""Prompts that are less than so like their kind, as a share of what nearly all of those
are that it was made of, are unlike anything that was logged."""
SEEN_OFTEN = 5.0
"""Graded answers to prompts of a kind, of each worker of a plan, that are enough."""
RANKED = 16
"""Plans that are kept of a search: for explanations, and after refusals."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best plans for a prompt, the best one first."""

    kind: int
    workers: tuple[str, ...]
    """Names, by place."""
    candidates: tuple[PlanCandidate, ...]
    alone: tuple[PlanCandidate, ...]
    """Each worker on its own, the best one first."""


@dataclass(frozen=True, slots=True)
class LightPlanner:
    """Chooses among templates and workers by expected success, less cost."""

    model: LightModel
    version: int
    """Which version of the pool's light planner this is."""
    cost_weight: float = COST_WEIGHT
    name: str = field(default="light", init=False)
    max_rounds: ClassVar[int] = 1

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return the best plan that was not refused yet, with its explanation.

        Raises: PlanRejected if it knows no worker that may answer.
        """
        if request.may_keep:
            return None
        ranking = self.ranking(request)
        refused = len(request.rejections)
        if refused >= len(ranking.candidates):
            raise PlanRejected(
                PlanFault.EMPTY_PLAN,
                "the light planner knows no other plan for these workers",
            )
        return self._plan(ranking, refused)

    def plans(self, prompt: str, pool: Pool, max_steps: int, count: int) -> list[Plan]:
        """Return the best plans for a prompt alone; none if it knows no worker."""
        request = PlanRequest(Task(prompt), pool, max_steps)
        ranking = self.ranking(request, count)
        return [self._plan(ranking, n) for n in range(len(ranking.candidates))]

    def expected(self, prompt: str, pool: Pool, max_steps: int) -> float:
        """Return the success that is expected of the best plan; 0: there is none."""
        request = PlanRequest(Task(prompt), pool, max_steps)
        best = self.ranking(request, 1).candidates
        return best[0].success if best else 0.0

    def _plan(self, ranking: Ranking, place: int) -> Plan:
        chosen = ranking.candidates[place]
        explanation = self._explained(ranking, place)
        workers = [ranking.workers[worker] for worker in chosen.workers]
        return template_plan(
            chosen.template, workers, in_words(explanation), json.dumps(explanation)
        )

    def is_unsure(self, request: PlanRequest) -> bool:
        """Say whether little is known of such prompts, or of the best plan for one."""
        ranking = self.ranking(request, 1)
        if not ranking.candidates:
            return True
        best = ranking.candidates[0]
        ids = [self.model.workers.index(ranking.workers[w]) for w in best.workers]
        return (
            self.model.likeness(request.task.prompt) < FAMILIAR
            or self.model.answers_seen(ranking.kind, ids) < SEEN_OFTEN
        )

    def ranking(self, request: PlanRequest, count: int = RANKED) -> Ranking:
        """Return the best plans for a request, those of one worker alone as well."""
        model, prompt = self.model, request.task.prompt
        kind = model.kinds.kind_of(prompt)
        known = [w for w in request.pool.workers if w.name in model.workers]
        if not known:
            return Ranking(kind, (), (), ())
        ids = most_useful(
            model.tables(kind), [model.workers.index(w.name) for w in known]
        )
        by_name = {worker.name: worker for worker in known}
        workers = [by_name[model.workers[each]] for each in ids]
        tables = model.tables(kind).among(ids)
        costs = (
            model.tokens._replace(outputs=model.tokens.outputs[:, ids]),
            _prices(workers),
        )
        abilities = _abilities(request, workers)

        def best(max_steps: int, number: int) -> tuple[PlanCandidate, ...]:
            return tuple(
                best_candidates(
                    tables,
                    costs,
                    abilities,
                    prompt_tokens=prompt_tokens(prompt),
                    max_steps=max_steps,
                    cost_weight=self.cost_weight,
                    count=number,
                )
            )

        names = tuple(worker.name for worker in workers)
        return Ranking(
            kind, names, best(request.max_steps, count), best(1, len(workers))
        )

    def _explained(self, ranking: Ranking, place: int) -> Explanation:
        return explained(
            ranking.candidates[place:],
            ranking.alone,
            ranking.workers,
            version=self.version,
            kind=ranking.kind,
            kind_words=self.model.kinds.examples[ranking.kind],
            cost_weight=self.cost_weight,
        )


def _abilities(request: PlanRequest, workers: Sequence[PoolWorker]) -> Abilities:
    def able(is_last: bool) -> list[bool]:
        return [not unsuited(request.task, w, is_last=is_last) for w in workers]

    return Abilities(np.array(able(False)), np.array(able(True)))


def _prices(workers: Sequence[PoolWorker]) -> Prices:
    """Return prices; a worker whose price is unknown counts as the dearest one."""

    def column(name: str) -> Floats:
        known = [getattr(w.price, name) for w in workers if w.price is not None]
        dearest = max(known, default=0)
        return np.array(
            [
                float(dearest if w.price is None else getattr(w.price, name))
                for w in workers
            ]
        )

    return Prices(column("input_micros"), column("output_micros"))
