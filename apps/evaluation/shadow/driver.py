"""Drives one shadow test: finds runs, begins the candidate's, compares the two.

What has been done is in the database alone, as in an evaluation: a process that takes
over finds the runs of the one before it and pays for none of them twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from apps.accounts.principal import Principal
from apps.audit.types import Actor
from apps.budgets.errors import RateLimited
from apps.core.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    Overloaded,
)
from apps.core.ids import first_id
from apps.core.money import usd_text
from apps.core.scoping import TeamQuerySet
from apps.evaluation.costs import pool_of_system
from apps.evaluation.requesters import requester_principal
from apps.evaluation.shadow.candidate_runs import (
    CannotMirror,
    PlannedRun,
    candidate_run,
    judging_run,
    mirror_order,
)
from apps.evaluation.shadow.comparison import judgement_noted, mirror_noted
from apps.evaluation.shadow.models import (
    IN_PROGRESS,
    OPEN,
    MirroredRun,
    MirrorState,
    ShadowOutcome,
    ShadowTest,
)
from apps.evaluation.shadow.selection import RunSelection
from apps.evaluation.shadow.settings import ShadowSettings
from apps.pools.selectors import pool_snapshot
from apps.pools.types import PoolSnapshot
from apps.runs.models import RunState
from apps.runs.selectors import run_states
from apps.runs.services import run_cancel, run_start_blocking

SETTLED = timedelta(minutes=2)
"""After so long a run that was accepted has its row."""
RUNS_AT_ONCE = 200
ENDED = (RunState.COMPLETED, RunState.FAILED)
PAUSE_S = 0.1
"""How long a step waits while runs of the candidate go on."""
BACK_OFF_S = 2.0
"""How long no run begins after the site was full, unless it says another time."""
STOPPED = "its shadow test has ended"
PRICE_MISSING = "a worker has no price, so the cost limit cannot be kept"


class ShadowEnded(Exception):
    """The test is over."""

    def __init__(self, outcome: ShadowOutcome, why: str = "") -> None:
        super().__init__(why)
        self.outcome, self.why = outcome, why


class ShadowDriver:
    """One claimed test. Not for the event loop: every step blocks."""

    def __init__(self, test: ShadowTest) -> None:
        self._test = test
        self._team_id = test.team_id
        self._settings = ShadowSettings.model_validate(test.settings)
        self._requested = Actor(**test.requested_by)
        self._selection = RunSelection(test, self._settings)
        self._not_before = 0.0
        """Time of the monotonic clock before which no run begins."""

    def step(self) -> bool:
        """Do what there is to do; False: nothing goes on, so come back later.

        Raises: ShadowEnded; the candidate's runs have ended then.
        """
        try:
            self._settle()
            if self._is_stopped():
                raise ShadowEnded(ShadowOutcome.STOPPED)
            found = self._look()
            self._await_originals()
            begun = self._begin()
            if not self._rows(*OPEN).exists() and self._has_found_all():
                raise ShadowEnded(ShadowOutcome.COMPLETED)
        except ShadowEnded:
            self._stop()
            raise
        goes_on = self._rows(*IN_PROGRESS).exists()
        if goes_on and not begun:
            time.sleep(PAUSE_S)
        return goes_on or begun > 0 or found > 0

    def _is_stopped(self) -> bool:
        rows = ShadowTest.objects.for_team(self._team_id).filter(id=self._test.id)
        return not rows.filter(is_stopped=False).exists()

    def _rows(self, *states: MirrorState) -> TeamQuerySet[MirroredRun]:
        rows = MirroredRun.objects.for_team(self._team_id).filter(test=self._test)
        return rows.filter(state__in=states) if states else rows

    def _room(self) -> int:
        """Return how many more runs are to be mirrored."""
        mirrored = self._rows().exclude(state=MirrorState.SKIPPED).count()
        return max(self._settings.max_runs - mirrored, 0)

    def _has_found_all(self) -> bool:
        if not self._room():
            return True
        return self._test.looked_until >= first_id(self._test.until)

    @transaction.atomic
    def _look(self) -> int:
        """Note runs that are to be mirrored; return how many have been found."""
        room, test = self._room(), self._test
        if not room:
            return 0
        end = first_id(test.until)
        settled = min(first_id(timezone.now() - SETTLED), end)
        runs = self._selection.begun().filter(id__gte=test.looked_until, id__lt=end)
        found = list(runs.order_by("id")[:RUNS_AT_ONCE])
        known = set(
            self._rows()
            .filter(original_run_id__in=[run.id for run in found])
            .values_list("original_run_id", flat=True)
        )
        fresh = [
            MirroredRun(team_id=self._team_id, test=test, original_run_id=run.id)
            for run in self._selection.wanted(found)
            if run.id not in known
        ]
        MirroredRun.objects.bulk_create(fresh[:room], ignore_conflicts=True)
        reached = settled
        if len(found) == RUNS_AT_ONCE:
            reached = min(settled, UUID(int=found[-1].id.int + 1))
        if reached > test.looked_until and len(fresh) <= room:
            test.looked_until = reached
            test.save(update_fields=["looked_until"])
        return len(fresh)

    def _await_originals(self) -> None:
        """Let those wait for their turn whose original run has ended.

        Those that the filters leave out are forgotten.
        """
        waiting = list(self._rows(MirrorState.PENDING).order_by("id")[:RUNS_AT_ONCE])
        states = run_states(self._team_id, [each.original_run_id for each in waiting])
        ended = [run_id for run_id, state in states.items() if state in ENDED]
        matching = self._selection.matching(ended)
        for mirrored in waiting:
            state = states.get(mirrored.original_run_id)
            if state is None:
                self._give_up(mirrored, "the original run is not on record any more")
            elif state == RunState.CANCELLED:
                self._give_up(mirrored, "the original run was cancelled")
            elif state in ENDED and mirrored.original_run_id not in matching:
                mirrored.delete()
            elif state in ENDED:
                mirrored.state = MirrorState.WAITING
                mirrored.save(update_fields=["state"])

    def _give_up(self, mirrored: MirroredRun, why: str) -> None:
        """Leave a run out; if both answers are there, only their judgement."""
        mirrored.cause, mirrored.judging_cost_micros = why[:200], 0
        if mirrored.state == MirrorState.JUDGED:
            mirrored.state = MirrorState.DONE
        else:
            mirrored.state, mirrored.cost_micros = MirrorState.SKIPPED, 0
        mirrored.save()

    def _settle(self) -> None:
        """Compare the answers of runs that have ended, and read what a model judged."""
        rows = list(self._rows(*IN_PROGRESS).order_by("id"))
        states = self._states(rows)
        for mirrored in rows:
            state = states.get(mirrored.current_run_id, RunState.RUNNING)
            if state == RunState.RUNNING:
                continue
            if mirrored.state == MirrorState.JUDGED:
                judgement_noted(mirrored)
            else:
                mirror_noted(mirrored, is_judged=self._settings.grader is not None)

    def _states(self, rows: Iterable[MirroredRun]) -> dict[UUID, str]:
        return run_states(self._team_id, [each.current_run_id for each in rows])

    def _begin(self) -> int:
        """Begin runs as far as there is room; return how many have begun."""
        if time.monotonic() < self._not_before:
            return 0
        running = list(self._rows(*IN_PROGRESS).order_by("id"))
        known = self._states(running)
        lost = [each for each in running if each.current_run_id not in known]
        free = max(self._settings.parallel_runs - len(running), 0)
        waiting = self._rows(MirrorState.WAITING).order_by("id")[:free]
        wanted = [*lost, *waiting]
        if not wanted:
            return 0
        try:
            principal = requester_principal(
                self._requested, self._test.team, self._test.user
            )
        except ConductorError as exc:
            raise ShadowEnded(ShadowOutcome.FAILED, exc.message) from exc
        return self._begin_some(wanted, principal)

    def _begin_some(
        self, wanted: Sequence[MirroredRun], principal: Principal | None
    ) -> int:
        for begun, mirrored in enumerate(wanted):
            if not self._start(mirrored, principal):
                return begun
        return len(wanted)

    def _pool(self, mirrored: MirroredRun) -> PoolSnapshot:
        """Return the pool of the grader, or that of the candidate in its version.

        Raises: ShadowEnded if it cannot be used any more.
        """
        name, candidate = self._settings.pool_of_candidate, self._settings.candidate
        try:
            if mirrored.judging_run_id:
                return pool_snapshot(self._team_id, name)
            return pool_of_system(candidate, self._team_id, name)
        except ConductorError as exc:
            raise ShadowEnded(ShadowOutcome.FAILED, exc.message) from exc

    def _start(self, mirrored: MirroredRun, principal: Principal | None) -> bool:
        """Begin the run that a row waits for; False: none can for a while."""
        make = judging_run if mirrored.judging_run_id else candidate_run
        try:
            planned = make(mirrored, self._settings, self._pool(mirrored))
        except CannotMirror as exc:
            self._give_up(mirrored, str(exc))
            return True
        if not self._set_aside(mirrored, planned.cost_micros):
            return False
        return self._run(mirrored, planned, principal)

    def _set_aside(self, mirrored: MirroredRun, cost: int | None) -> bool:
        """Claim a row, with what its run may cost; False: it has to wait.

        Raises: ShadowEnded if the cost limit allows no further run.
        """
        limit = self._settings.max_cost_micros
        if limit is not None:
            if cost is None:
                raise ShadowEnded(ShadowOutcome.FAILED, PRICE_MISSING)
            if not self._is_left(mirrored, cost, limit):
                return False
        self._claim(mirrored, cost or 0)
        return True

    def _is_left(self, mirrored: MirroredRun, cost: int, limit: int) -> bool:
        """Return whether the limit leaves so much; False: more may be left over later.

        Raises: ShadowEnded if it never will.
        """
        others = self._rows().exclude(id=mirrored.id)
        sums = others.aggregate(runs=Sum("cost_micros"), s=Sum("judging_cost_micros"))
        spent = (sums["runs"] or 0) + (sums["s"] or 0)
        if mirrored.state == MirrorState.JUDGED:
            spent += mirrored.cost_micros
        left = limit - spent
        if cost <= left:
            return True
        if others.filter(state__in=IN_PROGRESS).exists():
            return False  # what they leave over may be enough
        raise ShadowEnded(
            ShadowOutcome.BUDGET,
            f"the next run may cost ${usd_text(cost)}, and ${usd_text(left)} are left",
        )

    def _claim(self, mirrored: MirroredRun, cost: int) -> None:
        """Claim a row, with what its run may cost."""
        if mirrored.state == MirrorState.JUDGED:
            mirrored.judging_cost_micros = cost
        else:
            mirrored.state, mirrored.cost_micros = MirrorState.STARTED, cost
        mirrored.save(update_fields=["state", "cost_micros", "judging_cost_micros"])

    def _run(
        self, mirrored: MirroredRun, planned: PlannedRun, principal: Principal | None
    ) -> bool:
        """Begin a run; False: the site is full, or a rate used up."""
        try:
            order = mirror_order(planned, principal, self._requested)
            run_start_blocking(order, mirrored.current_run_id, detached=True)
        except (Overloaded, RateLimited) as exc:
            self._not_before = time.monotonic() + (exc.retry_after_s or BACK_OFF_S)
            self._put_back(mirrored)
            return False
        except Conflict:
            return True  # it is executing
        except InvalidInput as exc:
            self._give_up(mirrored, exc.message)
        except ConductorError as exc:
            self._put_back(mirrored)
            raise ShadowEnded(ShadowOutcome.FAILED, exc.message) from exc
        return True

    def _put_back(self, mirrored: MirroredRun) -> None:
        """Let a row wait whose run could not begin; nothing is set aside for it."""
        if mirrored.state == MirrorState.STARTED:
            mirrored.state, mirrored.cost_micros = MirrorState.WAITING, 0
        mirrored.judging_cost_micros = 0
        mirrored.save(update_fields=["state", "cost_micros", "judging_cost_micros"])

    def _stop(self) -> None:
        """Cancel the candidate's runs in progress, and note what they cost."""
        running = list(self._rows(*IN_PROGRESS))
        known = self._states(running)
        for run_id in known:
            run_cancel(
                run_id=run_id,
                team_id=self._team_id,
                actor=self._requested,
                reason=STOPPED,
            )
        self._settle()
        for mirrored in self._rows(*OPEN):
            self._give_up(mirrored, STOPPED)
