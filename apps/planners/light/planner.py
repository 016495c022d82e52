"""The light planner: plans by search over what was learned, in milliseconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import Plan
from apps.engine.ports import Ask, PlanRequest, Pool, PoolWorker, Task
from apps.engine.suitability import unsuited
from apps.planners.answer_worth import worth_by_answers
from apps.planners.exploration import Explorer
from apps.planners.light.explanation import Explanation, explained, in_words
from apps.planners.light.exploring import EXPLORED, Explored, drawn, near_best
from apps.planners.light.intervals import success_interval
from apps.planners.light.model import LightModel, SuccessTables
from apps.planners.light.prompt_features import (
    BY_NGRAMS,
    PromptFeatures,
    features_of,
)
from apps.planners.light.search import (
    Abilities,
    PlanCandidate,
    best_candidates,
    dearest_answer,
    most_useful,
    plan_appraised,
)
from apps.planners.light.templates import template_plan
from apps.planners.light.text_features import Floats
from apps.planners.light.token_costs import Prices, TokenModel, prompt_tokens
from apps.planners.stickiness import Appraised, Appraiser

SEEN_OFTEN = 5.0
"""Graded answers to prompts of a kind, of each worker of a plan, that are enough."""
RANKED = 16
"""Plans that are kept of a search: for explanations, and after refusals."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best plans for a prompt, the best one first."""

    kind: int
    """The nearest one."""
    is_familiar: bool
    """False: the prompt is unlike all kinds, so each plan is one worker alone."""
    workers: tuple[str, ...]
    """Names, by place."""
    candidates: tuple[PlanCandidate, ...]
    alone: tuple[PlanCandidate, ...]
    """Each worker on its own, the best one first."""
    worth_micros: float
    """What a right answer was worth."""
    tables: SuccessTables = field(compare=False)
    """Success of single steps, by place."""
    answers: SuccessTables = field(compare=False)
    """The weight of the answers that it rests on, by place."""
    features: PromptFeatures = BY_NGRAMS
    """What the kind was found by."""

    def interval(self, candidate: PlanCandidate) -> tuple[float, float]:
        """Return bounds of a plan's success that hold in 95 % of cases."""
        return success_interval(
            candidate.template, candidate.workers, self.tables, self.answers
        )


class _Scope(NamedTuple):
    """What is known of the workers of a request."""

    kind: int
    is_familiar: bool
    workers: list[PoolWorker]
    tables: SuccessTables
    answers: SuccessTables
    costs: tuple[TokenModel, Prices]
    worth_micros: float


@dataclass(frozen=True, slots=True)
class LightPlanner(Explorer, Appraiser):
    """Chooses among templates and workers by expected success, less cost."""

    model: LightModel
    version: int
    """Which version of the pool's light planner this is."""
    answer_worth_micros: float | None = None
    """What a right answer is worth. Infinite: cost does not count. None: so many
    answers of the dearest worker of the request; see `worth_by_answers`."""
    seed: str = ""
    """What decides which plan near the best one is tried in its place. Empty: none."""
    name: str = field(default="light", init=False)
    max_rounds: ClassVar[int] = 1

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return the best plan, with its explanation.

        After a refusal it is the best one that would not be refused now: a policy may
        have changed the ranking, and the refused plan need not have been the best.
        Raises: PlanRejected if there is none, or it knows no worker that may answer.
        """
        if request.may_keep:
            return None
        ranking = self.ranking(request, features=await self._features(request))
        is_first = not (request.rejections or request.rounds)
        if self.seed and ranking.candidates and is_first:
            explored = await self._explored(request, ranking)
            if explored is not None:
                return self._explored_plan(ranking, explored)
        for place, candidate in enumerate(ranking.candidates):
            plan = self._bare_plan(ranking, candidate)
            if not request.rejections or await request.preview(plan) != "refused":
                return self._plan(ranking, place)
        raise PlanRejected(
            PlanFault.EMPTY_PLAN,
            "the light planner knows no other plan for these workers",
        )

    async def _features(self, request: PlanRequest) -> PromptFeatures:
        """Return the prompt's features, with its vector if the version needs one."""
        embedded = self.model.kinds.embedded
        if embedded is None:
            return BY_NGRAMS
        return features_of(embedded, await request.vector())

    def exploring(self, seed: str) -> Self:
        """Return the planner that tries a plan near the best one, drawn by `seed`."""
        return replace(self, seed=seed)

    async def _explored(
        self, request: PlanRequest, ranking: Ranking
    ) -> Explored | None:
        """Draw among what no policy refuses or holds back; None: the best plan it is.

        Where a policy stands against the best plan itself, people shall see that: no
        other plan takes its place.
        """
        best, *others = near_best(ranking.candidates)
        if await request.preview(self._bare_plan(ranking, best)) != "accepted":
            return None
        left = [best]
        for each in others:
            if await request.preview(self._bare_plan(ranking, each)) == "accepted":
                left.append(each)
        return drawn(self.seed, left)

    def _bare_plan(self, ranking: Ranking, candidate: PlanCandidate) -> Plan:
        workers = [ranking.workers[worker] for worker in candidate.workers]
        return template_plan(candidate.template, workers)

    def plans(
        self,
        prompt: str,
        pool: Pool,
        max_steps: int,
        count: int,
        required: str | None = None,
    ) -> list[Plan]:
        """Return the best plans for a prompt alone; none if it knows no worker.

        `required` names a worker that each plan must have.
        """
        request = PlanRequest(Task(prompt), pool, max_steps)
        ranking = self.ranking(request, count, required)
        return [self._plan(ranking, n) for n in range(len(ranking.candidates))]

    def expected(
        self,
        prompt: str,
        pool: Pool,
        max_steps: int,
        features: PromptFeatures = BY_NGRAMS,
    ) -> float:
        """Return the success that is expected of the best plan; 0: there is none."""
        request = PlanRequest(Task(prompt), pool, max_steps)
        best = self.ranking(request, 1, features=features).candidates
        return best[0].success if best else 0.0

    def _plan(self, ranking: Ranking, place: int) -> Plan:
        ranked = ranking.candidates[place:]
        return self._reasoned(ranking, ranked, self._explained(ranking, ranked))

    def _explored_plan(self, ranking: Ranking, explored: Explored) -> Plan:
        place = ranking.candidates.index(explored.candidate)
        ranked = ranking.candidates[place:]
        explanation = self._explained(ranking, ranked, explored)
        plan = self._reasoned(ranking, ranked, explanation)
        return replace(plan, made_by=EXPLORED)

    def _reasoned(
        self,
        ranking: Ranking,
        ranked: Sequence[PlanCandidate],
        explanation: Explanation,
    ) -> Plan:
        """Return the first of `ranked` as a plan, with why it was chosen."""
        return replace(
            self._bare_plan(ranking, ranked[0]),
            reasoning=in_words(explanation),
            explanation=json.dumps(explanation),
        )

    async def is_unsure(self, request: PlanRequest) -> bool:
        """Say whether little is known of such prompts, or of the best plan for one."""
        ranking = self.ranking(request, 1, features=await self._features(request))
        if not ranking.candidates:
            return True
        model = self.model.known_now(request.pool.fingerprints)
        best = ranking.candidates[0]
        ids = [model.workers.index(ranking.workers[w]) for w in best.workers]
        return (
            not ranking.is_familiar
            or model.answers_seen(ranking.kind, ids) < SEEN_OFTEN
        )

    def ranking(
        self,
        request: PlanRequest,
        count: int = RANKED,
        required: str | None = None,
        features: PromptFeatures = BY_NGRAMS,
    ) -> Ranking:
        """Return the best plans for a request, those of one worker alone as well.

        Pure: the vector of the prompt, if there is one, is in `features`.

        For a prompt that is unlike everything that was logged, what the nearest kind
        says of single steps is no guide: each worker is only judged over all kinds.
        With `required` each plan has that worker, if it is among those known.
        """
        scope = self._scope(request, features, required)
        names = tuple(worker.name for worker in scope.workers)
        place = names.index(required) if required in names else None

        def best(max_steps: int, number: int) -> tuple[PlanCandidate, ...]:
            return tuple(
                best_candidates(
                    scope.tables,
                    scope.costs,
                    _abilities(request, scope.workers),
                    prompt_tokens=prompt_tokens(request.task.prompt),
                    max_steps=max_steps,
                    worth_micros=scope.worth_micros,
                    count=number,
                    required=place,
                )
            )

        alone = best(1, len(names)) if names else ()
        is_familiar = scope.is_familiar
        plans = best(request.max_steps, count) if names and is_familiar else alone
        return Ranking(
            scope.kind,
            is_familiar,
            names,
            plans[:count],
            alone,
            scope.worth_micros,
            scope.tables,
            scope.answers,
            features,
        )

    def _scope(
        self, request: PlanRequest, features: PromptFeatures, required: str | None
    ) -> _Scope:
        """Return what is known of the workers of a request, for its kind of prompt."""
        model = self.model.known_now(request.pool.fingerprints)
        prompt = request.task.prompt
        kind, likeness = model.placed(prompt, features.vector)
        is_familiar = model.is_familiar(prompt, likeness, features.vector)
        every = model.tables(kind) if is_familiar else model.overall
        by_name = {w.name: w for w in request.pool.workers if w.name in model.workers}
        ids = most_useful(every, [model.workers.index(name) for name in by_name])
        if required in by_name and model.workers.index(required) not in ids:
            ids[-1] = model.workers.index(required)
        workers = [by_name[model.workers[each]] for each in ids]
        costs = (
            model.tokens._replace(outputs=model.tokens.outputs[:, ids]),
            _prices(workers),
        )
        worth = self._worth(len(ids), (*costs, prompt_tokens(prompt)))
        answers = model.answers(kind if is_familiar else None)
        return _Scope(
            kind,
            is_familiar,
            workers,
            every.among(ids),
            answers.among(ids),
            costs,
            worth,
        )

    def _worth(self, workers: int, costs: tuple[TokenModel, Prices, int]) -> float:
        if self.answer_worth_micros is not None:
            return self.answer_worth_micros
        return worth_by_answers(dearest_answer(workers, costs) if workers else 0)

    async def appraise(
        self, request: PlanRequest, last: Plan, new: Plan
    ) -> Appraised | None:
        """Return what is expected of two plans; None: it knows too little of one.

        A plan of one step is one worker alone, whatever its subtask says.
        """
        features = await self._features(request)
        scope = self._scope(request, features, last.steps[-1].worker)
        costs = (*scope.costs, prompt_tokens(request.task.prompt))
        appraisals = [
            plan_appraised(plan, [w.name for w in scope.workers], scope.tables, costs)
            for plan in (last, new)
        ]
        before, after = appraisals
        if before is None or after is None:
            return None
        return Appraised(before, after, scope.worth_micros)

    def _explained(
        self,
        ranking: Ranking,
        ranked: Sequence[PlanCandidate],
        explored: Explored | None = None,
    ) -> Explanation:
        return explained(
            ranked,
            ranking.alone,
            ranking.workers,
            ranking.interval,
            version=self.version,
            kind=ranking.kind,
            kind_words=self.model.kinds.examples[ranking.kind],
            is_familiar=ranking.is_familiar,
            source=self.model.source,
            worth_micros=ranking.worth_micros,
            explored=explored,
            features=ranking.features.values(self.model.kinds.embedded),
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
