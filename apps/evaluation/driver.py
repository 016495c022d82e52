"""Drives one evaluation: begins its runs, grades their answers, keeps to its cost.

What has been done is in the database alone. Each result has the id of its run before
the run begins, so a process that takes over finds the runs of the one before it and
pays for none of them twice.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.budgets.errors import RateLimited
from apps.core.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    Overloaded,
)
from apps.core.money import usd_text
from apps.core.scoping import TeamQuerySet
from apps.evaluation.code_grading import code_grades
from apps.evaluation.costs import (
    highest_cost,
    highest_grading_cost,
    pool_of_system,
    task_context,
)
from apps.evaluation.drawing import tasks_drawn
from apps.evaluation.grading import (
    GRADING_PARAMS,
    grading_noted,
    grading_prompt,
    run_noted,
)
from apps.evaluation.models import (
    IN_PROGRESS,
    Evaluation,
    EvaluationOutcome,
    EvaluationResult,
    ResultState,
)
from apps.evaluation.plan_runs import Requested, evaluation_order
from apps.evaluation.requesters import requester_principal
from apps.evaluation.run_costs import LikelyRunCosts
from apps.evaluation.selectors import evaluation_counts
from apps.evaluation.services import require_sandbox
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.spending import Spending, cost_of
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.systems.base import Arrangement
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.runs.models import RunState
from apps.runs.planning.model_resolver import direct_model
from apps.runs.selectors import run_states
from apps.runs.services import run_cancel, run_start_blocking
from apps.runs.types import RunOrder

PREPARED_AT_ONCE = 1_000
"""Results written with one statement."""
PAUSE_S = 0.05
"""How long a step waits at its end. Runs that end meanwhile are graded together: the
requests of a serving process wait for each look at the database."""
BACK_OFF_S = 2.0
"""How long no run begins after the site was full, unless it says another time."""
STOPPED = "its evaluation has ended"
PRICE_MISSING = "a worker has no price, so the cost limit cannot be kept"


class Unfinished(NamedTuple):
    """A result in progress: no more of it than each look at the database needs."""

    result_id: int
    run_id: UUID
    """The run that it waits for: its own, or the one that judges it."""
    run_state: str | None
    """None: the run is not on record."""


class EvaluationEnded(Exception):
    """The evaluation is over before all of its tasks are."""

    def __init__(self, outcome: EvaluationOutcome, why: str = "") -> None:
        super().__init__(why)
        self.outcome, self.why = outcome, why


class EvaluationDriver:
    """One claimed evaluation. Not for the event loop: every step blocks."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._team_id = evaluation.team_id
        self._settings = EvaluationSettings.model_validate(evaluation.settings)
        self.counts = evaluation_counts(evaluation)
        """Of the results: total, graded and cost."""
        self._spending = Spending(evaluation)
        self._likely = LikelyRunCosts(evaluation, self._settings)
        self._not_before = 0.0
        """Time of the monotonic clock before which no run begins."""

    def steps(self) -> Generator[None]:
        """Go on step by step until all results are graded.

        Raises: EvaluationEnded if there is a reason to stop earlier; its runs have
        ended then, and are graded.
        """
        yield from self._prepare()
        try:
            yield from self._run_all()
        except EvaluationEnded:
            self._stop()
            raise

    def _run_all(self) -> Generator[None]:
        try:  # again: another machine may have taken the order
            require_sandbox(self._evaluation.version)
        except InvalidInput as exc:
            raise EvaluationEnded(EvaluationOutcome.FAILED, exc.message) from exc
        while True:
            unfinished = self._settle()
            if Evaluation.objects.for_team(self._team_id).filter(
                id=self._evaluation.id, is_cancelled=True
            ):
                raise EvaluationEnded(EvaluationOutcome.CANCELLED)
            begun = self._begin(unfinished)
            if not unfinished and not begun and not self._has_waiting():
                return
            time.sleep(PAUSE_S)
            yield

    def _prepare(self) -> Generator[None]:
        """Write the results that are to be filled, task by task."""
        evaluation = self._evaluation
        systems = range(len(self._settings.systems))
        tasks = tasks_drawn(evaluation.version, self._settings)
        places = [(task_id, system) for task_id in tasks for system in systems]
        written = self._results().count()
        for start in range(written, len(places), PREPARED_AT_ONCE):
            some = places[start : start + PREPARED_AT_ONCE]
            EvaluationResult.objects.bulk_create(
                EvaluationResult(
                    team_id=self._team_id,
                    evaluation=evaluation,
                    place=place,
                    task_id=task_id,
                    system=system,
                )
                for place, (task_id, system) in enumerate(some, start=start)
            )
            self.counts["total"] = start + len(some)
            yield

    def _count(self, result: EvaluationResult) -> None:
        self.counts["graded"] += 1
        self.counts["cost_micros"] += result.cost_micros + result.grading_cost_micros
        self._likely.add(result)

    def _results(self, *states: ResultState) -> TeamQuerySet[EvaluationResult]:
        rows = EvaluationResult.objects.for_team(self._team_id)
        rows = rows.filter(evaluation=self._evaluation)
        return rows.filter(state__in=states) if states else rows

    def _has_waiting(self) -> bool:
        return bool(self._results(ResultState.WAITING).exists())

    def _settle(self) -> list[Unfinished]:
        """Grade what has ended; return what goes on, or has to begin (again)."""
        unfinished = {each.result_id: each for each in self._unfinished()}
        ended = [each.result_id for each in unfinished.values() if _is_to_note(each)]
        for result in self._results_with_tasks(ended):
            before, was = cost_of(result), result.state
            self._note(result)
            if result.state == was:
                continue  # its code is being graded, and nothing has been stored
            self._spending.change(before, result)
            del unfinished[result.id]
            if result.state == ResultState.GRADING:
                judged = Unfinished(result.id, result.current_run_id, None)
                unfinished[result.id] = judged
            else:
                self._count(result)
        return list(unfinished.values())

    def _unfinished(self) -> list[Unfinished]:
        rows = self._results(*IN_PROGRESS).order_by("place")
        waited_for = {
            result_id: grading_run_id or run_id
            for result_id, run_id, grading_run_id in rows.values_list(
                "id", "run_id", "grading_run_id"
            )
        }
        states = run_states(self._team_id, waited_for.values())
        return [
            Unfinished(result_id, run_id, states.get(run_id))
            for result_id, run_id in waited_for.items()
        ]

    def _results_with_tasks(self, ids: Sequence[int]) -> Iterable[EvaluationResult]:
        if not ids:
            return ()
        rows = self._results().filter(id__in=ids)
        return rows.select_related("task").order_by("place")

    def _note(self, result: EvaluationResult) -> None:
        task = task_read(result.task)
        if result.state == ResultState.GRADING:
            grading_noted(result, task)
        else:
            cost = self._grading_cost(task) or 0
            has_code_steps = self._settings.grades_code_steps(result.system)
            run_noted(result, task, cost, has_code_steps=has_code_steps)

    def _grading_cost(self, task: SuiteTask) -> int | None:
        if not task.needs_grader:
            return 0
        snapshot = pool_snapshot(self._team_id, self._settings.pool)
        return highest_grading_cost(self._settings, task, snapshot)

    def _begin(self, unfinished: Sequence[Unfinished]) -> int:
        """Begin runs as far as there is room; return how many have begun."""
        if time.monotonic() < self._not_before:
            return 0
        lost = [each.result_id for each in unfinished if each.run_state is None]
        free = self._settings.parallel_runs - len(unfinished)
        waiting = self._results(ResultState.WAITING).select_related("task")
        wanted = [
            *self._results_with_tasks(lost),
            *waiting.order_by("place")[: max(free, 0)],
        ]
        if not wanted:
            return 0
        principal = self._principal()
        snapshot = pool_snapshot(self._team_id, self._settings.pool)
        begun = 0
        for result in wanted:
            if not self._start(result, principal, snapshot):
                break
            begun += 1
        return begun

    def _principal(self) -> Principal | None:
        """Return who started the evaluation, with their present rights.

        None: the operator did, by a command. Raises: EvaluationEnded if the person or
        the key may not run it any more.
        """
        requested = Actor(**self._evaluation.requested_by)
        try:
            return requester_principal(
                requested, self._evaluation.team, self._evaluation.user
            )
        except (NotAllowed, NotAuthenticated) as exc:
            raise EvaluationEnded(EvaluationOutcome.FAILED, exc.message) from exc

    def _set_aside(self, result: EvaluationResult, cost: int | None) -> bool:
        """Claim a result, with what its runs may cost; False: it has to wait.

        Raises: EvaluationEnded if the cost limit allows no further run.
        """
        limit = self._settings.max_cost_micros
        if limit is None:
            result.state = ResultState.STARTED
            result.save(update_fields=["state"])
            return True
        if cost is None:
            raise EvaluationEnded(EvaluationOutcome.FAILED, PRICE_MISSING)
        if not self._is_left(result, cost, limit):
            return False
        return self._spending.set_aside(result, cost)

    def _held_to(
        self, result: EvaluationResult, highest: int | None, grading: int | None
    ) -> int | None:
        """Return what a run is held to: its highest price, or what it likely costs.

        The latter if the cost limit has no room for the former. None: a price is
        missing.
        """
        limit = self._settings.max_cost_micros
        if limit is None or highest is None or grading is None:
            return highest
        others = self._spending.micros - cost_of(result)
        if others + highest + grading <= limit:
            return highest
        likely = self._likely.bound(result.system)
        return highest if likely is None else min(highest, likely)

    def _is_left(self, result: EvaluationResult, cost: int, limit: int) -> bool:
        """Say whether the limit leaves so much; False: more may be left over later.

        Raises: EvaluationEnded if nothing in progress can leave anything over.
        """
        spending, own = self._spending, cost_of(result)
        if spending.micros - own + cost <= limit:
            return True
        if self._results(*IN_PROGRESS).exclude(id=result.id).exists():
            return False
        spending.recount()  # a process before this one may have stored the last costs
        left = limit - spending.micros + own
        if cost <= left:
            return True
        raise EvaluationEnded(
            EvaluationOutcome.BUDGET,
            f"the next run may cost ${usd_text(cost)}, and ${usd_text(left)} are left",
        )

    def _start(
        self,
        result: EvaluationResult,
        principal: Principal | None,
        snapshot: PoolSnapshot,
    ) -> bool:
        """Begin the run that a result waits for; False: none can for a while."""
        task = task_read(result.task)
        if result.state == ResultState.GRADING:
            return self._run(result, principal, *self._grading(result, task, snapshot))
        system = self._settings.systems[result.system]
        try:
            place = result.place // len(self._settings.systems)
            its_pool = pool_of_system(system, self._team_id, self._settings.pool)
            arranged = system.arrange(
                task_context(task, its_pool, self._settings, place)
            )
        except (ValueError, ConductorError) as exc:  # what it needs is gone
            why = f"{system.label}: {exc}"
            raise EvaluationEnded(EvaluationOutcome.FAILED, why) from exc
        highest = highest_cost(system, arranged, task.prompt, its_pool)
        grading = self._grading_cost(task)
        cost = self._held_to(result, highest, grading)
        whole = None if cost is None or grading is None else cost + grading
        if not self._set_aside(result, whole):
            return False
        return self._run(result, principal, task.prompt, arranged, cost)

    def _grading(
        self, result: EvaluationResult, task: SuiteTask, snapshot: PoolSnapshot
    ) -> tuple[str, Arrangement, int | None]:
        """Return the prompt, arrangement and cost of the run that judges a result."""
        grader = self._settings.grader
        assert grader is not None  # checked before the evaluation started
        arranged = Arrangement(direct_model(grader), params=GRADING_PARAMS)
        cost = highest_grading_cost(self._settings, task, snapshot)
        return grading_prompt(result, task), arranged, cost

    def _run(
        self,
        result: EvaluationResult,
        principal: Principal | None,
        prompt: str,
        arranged: Arrangement,
        cost: int | None,
    ) -> bool:
        """Begin a run; False: the site is full, or a rate used up."""
        try:
            order = self._order(arranged, prompt, principal, cost)
            if result.state != ResultState.GRADING:
                order = replace(order, family=result.task.family)
            run_start_blocking(order, result.current_run_id, detached=True)
        except (Overloaded, RateLimited) as exc:
            self._not_before = time.monotonic() + (exc.retry_after_s or BACK_OFF_S)
            self._put_back(result)
            return False
        except Conflict:
            return True  # it is executing
        except InvalidInput as exc:
            before = cost_of(result)
            result.state, result.cause = ResultState.FAILED, exc.message[:200]
            if result.grading_run_id is None:
                result.cost_micros = 0
            result.grading_cost_micros = 0
            result.save()
            self._spending.change(before, result)
            self._count(result)
        except ConductorError as exc:
            self._put_back(result)
            raise EvaluationEnded(EvaluationOutcome.FAILED, exc.message) from exc
        return True

    def _put_back(self, result: EvaluationResult) -> None:
        """Let a result wait whose run could not begin; one to be graded stays so."""
        if result.state == ResultState.STARTED:
            before = cost_of(result)
            result.state, result.cost_micros = ResultState.WAITING, 0
            result.save(update_fields=["state", "cost_micros"])
            self._spending.change(before, result)

    def _order(
        self,
        arranged: Arrangement,
        prompt: str,
        principal: Principal | None,
        cost: int | None,
    ) -> RunOrder:
        """Return the order of a run. Raises: NotAllowed, RateLimited."""
        requested = Requested(
            self._team_id, Actor(**self._evaluation.requested_by), principal
        )
        is_limited = self._settings.max_cost_micros is not None
        model = f"{self._settings.pool}/{arranged.model}"
        return evaluation_order(
            requested, arranged, prompt, model, cost if is_limited else None
        )

    def _stop(self) -> None:
        """Cancel the runs in progress, and note what they cost."""
        requested = Actor(**self._evaluation.requested_by)
        known = {each.run_id for each in self._settle() if each.run_state is not None}
        for run_id in known:
            run_cancel(
                run_id=run_id, team_id=self._team_id, actor=requested, reason=STOPPED
            )
        unfinished = self._settle()
        for each in unfinished:
            code_grades.stop(each.result_id)
        # Those whose run has not begun: nothing is set aside for them any more.
        lost = [each.result_id for each in unfinished if each.run_id not in known]
        for result in self._results_with_tasks(lost):
            self._put_back(result)
        self._settle()


def _is_to_note(each: Unfinished) -> bool:
    """Say whether a run has ended, and its answer is not being graded in a thread."""
    ended = each.run_state not in (None, RunState.RUNNING)
    return ended and not code_grades.is_running(each.result_id)
