"""Runs the plans of a conductor in training, and says what each is worth.

Each distinct plan of a task runs once, also if the process is killed on the way: its
row has the id of the run before it begins. A reply that is no plan is worth 0 without a
run. Where a worker failed, nothing is known, so there is no reward.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from apps.audit.types import Actor
from apps.budgets.errors import RateLimited
from apps.core.errors import ConductorError, Conflict, InvalidInput, Overloaded
from apps.core.scoping import TeamQuerySet
from apps.engine.errors import PlanRejected
from apps.engine.plan import Plan, validate
from apps.evaluation.models import StoredTask
from apps.evaluation.plan_runs import (
    PlanResult,
    Requested,
    plan_highest_cost,
    plan_order,
    plan_result,
)
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.planners.list_plan_parser import parse_lists
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.runs.models import RunState
from apps.runs.selectors import access_run, run_states
from apps.runs.services import run_cancel, run_start_blocking
from apps.training.conductor.models import (
    ConductorRollout,
    ConductorTraining,
    RolloutState,
)
from apps.training.conductor.progress import PlanTally
from apps.training.conductor.prompts import PromptPlace, tier_pool
from apps.training.conductor.protocol import SampledPlan
from apps.training.conductor.rewards import (
    NO_PLAN,
    PlanOutcome,
    RewardSettings,
    plan_reward,
    round_reward,
)
from apps.training.conductor.settings import ConductorTrainingPlan
from apps.training.conductor.spending import OutOfBudget, RolloutSpending

BACK_OFF_S = 2.0
"""How long no run begins after the site was full, unless it says another time."""
UNIT_TOKENS = 1_000
"""A cost of 1 is that of so many tokens written by the dearest worker."""
ENDED_WITH = "its training has ended"
CAUSE_LENGTH = 200


class _Asked(NamedTuple):
    """A reply of the conductor as a plan for a task."""

    task_id: int
    digest: str
    plan: Plan | None
    """None: the answer of the plan with the digest is kept, which has run."""
    has_next: bool

    @property
    def key(self) -> tuple[int, str]:
        return self.task_id, self.digest


class UnknownTask(Exception):
    """The trainer names a task that it was not given."""


class TriedPlans:
    """The plans of one claimed training. Not for the event loop: every step blocks."""

    def __init__(
        self,
        training: ConductorTraining,
        places: Mapping[str, PromptPlace],
        requested: Callable[[], Requested],
    ) -> None:
        self._training = training
        self._settings = ConductorTrainingPlan.model_validate(training.settings)
        self._places, self._requested = places, requested
        _, self._max_steps = tier_pool(self._snapshot(), self._settings.tier)
        self._spending = RolloutSpending(training, self._settings.max_cost_micros)
        self._rewarding = RewardSettings(self._settings.reward_cost_percent / 100)
        self._unit = self._unit_micros()
        self._tasks: dict[int, SuiteTask] = {}
        self._not_before = 0.0

    def run(self, replies: Sequence[SampledPlan]) -> Iterator[bool]:
        """Run what was not run yet; yields whether it waits for something.

        Raises: UnknownTask; OutOfBudget, with what has ended by then stored;
        NotOurs; ConductorError.
        """
        asked = [each for each in map(self._asked, replies) if each is not None]
        wanted = {a.key: a.plan for a in asked if a.plan is not None}
        self._remember(wanted)
        while True:
            self._settle_others(wanted)
            rows = self._rows(wanted)
            self._settle(rows)
            open_ones = [row for row in rows if row.state != RolloutState.ENDED]
            if not open_ones:
                return
            self._begin(open_ones, wanted)
            yield True

    def rewards(
        self, replies: Sequence[SampledPlan]
    ) -> tuple[list[float | None], PlanTally]:
        """Return the reward of each reply, as far as it is known, and what they were.

        Raises: UnknownTask.
        """
        asked = [self._asked(reply) for reply in replies]
        rows = self._rows({a.key for a in asked if a is not None})
        found = {(row.task_id, row.digest): row for row in rows}
        tally = PlanTally()
        rewards: list[float | None] = []
        for each in asked:
            if each is None:
                tally.add_reply()
                rewards.append(NO_PLAN)
                continue
            row = found.get(each.key)  # None: it was told to stop, and asks again
            grade = None if row is None else row.grade
            if each.plan is not None:
                names = [step.worker for step in each.plan.steps]
                tally.add_plan(self._task(each.task_id).family, names, grade)
            elif grade is not None:
                tally.add_kept(grade)
            reward = None if row is None else row.reward
            rewards.append(
                round_reward(reward, self._rewarding, has_next=each.has_next)
            )
        return rewards, tally

    def newest_cause(self) -> str:
        """Return why the newest plan without a grade has none."""
        failed = self._all.filter(state=RolloutState.ENDED, grade=None)
        row = failed.order_by("-pk").first()
        return row.cause if row else ""

    def stop(self) -> None:
        """Cancel the runs in progress, and note what they cost."""
        begun = [*self._all.filter(state=RolloutState.STARTED)]
        actor, team_id = Actor(**self._training.requested_by), self._training.team_id
        on_record = run_states(team_id, [row.run_id for row in begun])
        for run_id in on_record:
            run_cancel(run_id=run_id, team_id=team_id, actor=actor, reason=ENDED_WITH)
        self._settle(begun)
        for row in begun:
            if row.state == RolloutState.ENDED:
                continue
            if row.run_id not in on_record:  # nothing is set aside for it any more
                self._put_back(row)
                continue
            run = access_run(team_id=team_id, run_id=row.run_id)
            if run.is_over:  # its answer is being graded, and no one waits for that
                self._note(row, PlanResult(True, None, ENDED_WITH, run.cost_micros))

    # --- replies ----------------------------------------------------------------------

    def _asked(self, reply: SampledPlan) -> _Asked | None:
        """Return a reply as a plan, or as keeping an answer; None: it is neither.

        Raises: UnknownTask.
        """
        place = self._places.get(reply.task)
        if place is None:
            raise UnknownTask(reply.task)
        if not _is_text(reply.text):
            return None
        try:
            plan = parse_lists(reply.text, place.workers)
            if plan is not None:
                validate(plan, workers=place.workers, max_steps=self._max_steps)
        except PlanRejected:
            return None
        digest = place.kept if plan is None else plan.digest
        if not digest:
            return None  # there is no answer to keep
        return _Asked(place.task_id, digest, plan, place.has_next)

    def _remember(self, wanted: Mapping[tuple[int, str], Plan]) -> None:
        ConductorRollout.objects.bulk_create(
            (
                ConductorRollout(
                    team_id=self._training.team_id,
                    training=self._training,
                    task_id=task_id,
                    digest=digest,
                    workers=[step.worker for step in plan.steps],
                )
                for (task_id, digest), plan in wanted.items()
            ),
            ignore_conflicts=True,
        )

    @property
    def _all(self) -> TeamQuerySet[ConductorRollout]:
        rows = ConductorRollout.objects.for_team(self._training.team_id)
        return rows.filter(training=self._training)

    def _rows(self, wanted: Collection[tuple[int, str]]) -> list[ConductorRollout]:
        rows = self._all.filter(digest__in={digest for _, digest in wanted})
        return [row for row in rows if (row.task_id, row.digest) in wanted]

    def _task(self, task_id: int) -> SuiteTask:
        if task_id not in self._tasks:
            rows = StoredTask.objects.for_team(self._training.team_id)
            self._tasks[task_id] = task_read(rows.get(id=task_id))
        return self._tasks[task_id]

    # --- runs -------------------------------------------------------------------------

    def _settle(self, rows: Sequence[ConductorRollout]) -> None:
        """Grade what has ended."""
        begun = [row for row in rows if row.state == RolloutState.STARTED]
        if not begun:
            return
        team_id = self._training.team_id
        states = run_states(team_id, [row.run_id for row in begun])
        for row in begun:
            if states.get(row.run_id) in (None, RunState.RUNNING):
                continue
            task = self._task(row.task_id)
            result = plan_result(team_id, row.run_id, task, row.run_id)
            if result is not None:
                self._note(row, result)

    def _settle_others(self, wanted: Mapping[tuple[int, str], Plan]) -> None:
        """Settle what an earlier trainer had begun and this one does not ask for."""
        begun = self._all.filter(state=RolloutState.STARTED)
        rows = [row for row in begun if (row.task_id, row.digest) not in wanted]
        self._settle(rows)
        known = run_states(self._training.team_id, [row.run_id for row in rows])
        for row in rows:
            if row.run_id not in known:
                self._put_back(row)

    def _note(self, row: ConductorRollout, result: PlanResult) -> None:
        grade = None if result.grade is None else float(result.grade.is_right)
        outcome = PlanOutcome(
            result.is_usable,
            grade,
            result.cost_micros / self._unit if self._unit else 0,
        )
        before = row.cost_micros
        row.state, row.grade = RolloutState.ENDED, grade
        row.reward = plan_reward(outcome, self._rewarding)
        row.cause, row.cost_micros = result.cause[:CAUSE_LENGTH], result.cost_micros
        row.save(update_fields=["state", "grade", "reward", "cause", "cost_micros"])
        self._spending.change(before, row)

    def _begin(
        self,
        open_ones: Sequence[ConductorRollout],
        wanted: Mapping[tuple[int, str], Plan],
    ) -> None:
        """Begin runs as far as there is room. Raises: OutOfBudget, NotOurs."""
        if time.monotonic() < self._not_before:
            return
        begun = [row for row in open_ones if row.state == RolloutState.STARTED]
        known = run_states(self._training.team_id, [row.run_id for row in begun])
        lost = [row for row in begun if row.run_id not in known]
        waiting = [row for row in open_ones if row.state == RolloutState.WAITING]
        free = max(0, self._settings.parallel_runs - len(begun))
        if not (some := [*lost, *waiting[:free]]):
            return
        requested, snapshot = self._requested(), self._snapshot()
        _require_workers(some, snapshot)
        for row in some:
            plan = wanted[row.task_id, row.digest]
            if not self._start(row, plan, requested, snapshot):
                return

    def _start(
        self,
        row: ConductorRollout,
        plan: Plan,
        requested: Requested,
        snapshot: PoolSnapshot,
    ) -> bool:
        """Begin a run; False: none can for a while. Raises: OutOfBudget, NotOurs."""
        task = self._task(row.task_id)
        tier = self._settings.tier
        highest = plan_highest_cost(plan, tier, task.prompt, snapshot)
        cost = self._spending.bound(highest)
        if not self._has_room(row, cost):
            return False
        self._spending.set_aside(row, cost)
        try:
            order = plan_order(requested, plan, tier, task, snapshot, cost)
            run_start_blocking(order, row.run_id, detached=True)
        except (Overloaded, RateLimited) as exc:
            self._not_before = time.monotonic() + (exc.retry_after_s or BACK_OFF_S)
            self._put_back(row)
            return False
        except Conflict:
            return True  # it is executing
        except InvalidInput as exc:  # the task can't be run with these workers
            self._note(row, PlanResult(True, None, exc.message, 0))
        except ConductorError:
            self._put_back(row)
            raise
        return True

    def _has_room(self, row: ConductorRollout, cost: int | None) -> bool:
        """Say whether the limit leaves so much; False: more may be left over later.

        Raises: OutOfBudget if nothing in progress can leave anything over.
        """
        own = row.cost_micros
        if self._spending.has_room(None if cost is None else cost - own):
            return True
        others = self._all.filter(state=RolloutState.STARTED).exclude(pk=row.pk)
        if others.exists():
            return False
        raise OutOfBudget(self._spending.why_over(cost))

    def _put_back(self, row: ConductorRollout) -> None:
        before = row.cost_micros
        row.state, row.cost_micros = RolloutState.WAITING, 0
        row.save(update_fields=["state", "cost_micros"])
        self._spending.change(before, row)

    def _snapshot(self) -> PoolSnapshot:
        return pool_snapshot(self._training.team_id, self._training.pool.name)

    def _unit_micros(self) -> float:
        prices = [
            w.price.output_micros for w in self._snapshot().chat_workers if w.price
        ]
        return max(prices, default=0) * UNIT_TOKENS / 1_000_000


def _require_workers(rows: Sequence[ConductorRollout], snapshot: PoolSnapshot) -> None:
    """Raise Conflict if a plan names a worker that the pool has lost meanwhile."""
    known = {worker.name for worker in snapshot.chat_workers}
    if gone := sorted({name for row in rows for name in row.workers} - known):
        raise Conflict(
            f"pool {snapshot.name!r} has no worker {gone[0]!r} any more, which its "
            "prompts are about"
        )


def _is_text(text: str) -> bool:
    """Say whether a text can be stored: no half of a character, no NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
