"""The light planner: plans by search over what was learned, in milliseconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import Plan
from apps.engine.ports import Ask, PlanRequest, PoolWorker
from apps.engine.suitability import unsuited
from apps.planners.light.explanation import Explanation, explained, in_words
from apps.planners.light.model import LightModel
from apps.planners.light.search import (
    Abilities,
    Candidate,
    best_candidates,
    most_useful,
)
from apps.planners.light.templates import template_plan
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import Prices, prompt_tokens

COST_WEIGHT = 0.04
"""Success that one answer of the dearest worker has to be worth, unless set."""
RANKED = 16
"""Plans that are kept of a search: for explanations, and after refusals."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best plans for a prompt, the best one first."""

    kind: int
    workers: tuple[str, ...]
    """Names, by place."""
    candidates: tuple[Candidate, ...]
    alone: tuple[Candidate, ...]
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
        chosen = ranking.candidates[refused]
        explanation = self._explained(ranking, refused)
        workers = [ranking.workers[place] for place in chosen.workers]
        return template_plan(
            chosen.template, workers, in_words(explanation), json.dumps(explanation)
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

        def best(max_steps: int, number: int) -> tuple[Candidate, ...]:
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
