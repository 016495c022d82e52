"""One step: from its context to a result, over retries, rivals and substitutes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from random import Random

from apps.engine.attempts import Asked, Attempts, InvalidOutput, Place, Watch
from apps.engine.candidates import Candidates, attempts_left, next_worker, untried
from apps.engine.delegation import rest_of
from apps.engine.errors import (
    LASTING_FAULTS,
    CallFailed,
    CallFault,
    LimitReached,
    PlanFault,
)
from apps.engine.events import StepFailed
from apps.engine.gate import check_step, messages_redacted
from apps.engine.hedging import Race
from apps.engine.limits import Limits
from apps.engine.messages import without_beginning
from apps.engine.ports import PoolWorker
from apps.engine.replay import Round, StepResult, Tried
from apps.engine.rescue import SentAnswer, continued_messages
from apps.engine.run import RunContext
from apps.engine.structured import ANSWER, PLAN, repair_messages


def wait_s(limits: Limits, chance: Random, failures: int, failed: CallFailed) -> float:
    """Return how long to wait before the same endpoint is asked again, in seconds.

    The provider's own `Retry-After` wins; else exponential with full jitter.
    """
    if failed.retry_after_s is not None:
        return min(failed.retry_after_s, limits.retry_cap_s)
    ceiling = limits.retry_base_s * 2.0 ** (failures - 1)
    return chance.uniform(0, min(ceiling, limits.retry_cap_s))


class StepRunner:
    """Runs one step of a round."""

    def __init__(self, run: RunContext, number: int, round_: Round, index: int) -> None:
        self._run = run
        self._place = place = Place(run, number, round_, index)
        is_live = place.gives_answer and run.streams_round(number)
        is_planning = round_.plan.is_planning(index)
        self._rest = rest_of(run, round_) if is_planning else None
        self._voice = SentAnswer(run) if is_live else None
        self._attempts = Attempts(place, self._voice, self._rest)
        self._all = Candidates(
            run.task,
            run.whole_pool,
            round_.plan,
            index,
            {i: r.told for i, r in round_.results.items()},
            needs_price=run.limits.max_cost_micros is not None,
            rest=self._rest,
        )
        self._permitted = self._all
        self._failures = _of_present(round_, index, run.pool.names)
        self._failed: dict[str, CallFailed] = {}
        """What went wrong last, by worker, as far as this process knows."""
        self._retry_at: dict[str, float] = {}
        """When a worker that failed may be asked again, where that is known."""
        self._repair: Asked | None = None
        self._result: StepResult | None = None
        self._clock = asyncio.timeout(None)

    async def run(self) -> StepResult:
        """Return the step's result; failure is a result too.

        Raises: Superseded, LimitReached, RunDenied, whatever the recorder raises.
        """
        try:
            async with self._clock:
                await self._ask_until_answered()
        except TimeoutError:
            if not self._clock.expired():
                raise
            if self._result is None:  # else only a rival was still being closed
                limit_s = self._run.limits.step_time_s
                message = f"the step may take {limit_s:g} s"
                return self._fail(CallFault.TOTAL_TIMEOUT, message)
        return self._result or self._fail(*self._last_fault())

    @property
    def _candidates(self) -> Candidates:
        """Return the candidates that the policies leave."""
        if self._permitted.pool is not self._run.pool:
            self._permitted = replace(self._permitted, pool=self._run.pool)
        return self._permitted

    async def _ask_until_answered(self) -> None:
        while self._result is None and (worker := self._next_worker(self._candidates)):
            await self._wait(worker)
            await self._ask(worker)

    def _next_worker(self, candidates: Candidates) -> PoolWorker | None:
        if self._voice is not None and self._voice.has_called_tools:
            return None  # the caller may be at work on it already
        if self._is_refused:
            return None
        closed = self._attempts.closed
        if not self._failures and not closed:
            return candidates.first
        most = self._run.limits.max_attempts
        return next_worker(candidates.workers, self._failures, most, closed=closed)

    @property
    def _is_refused(self) -> bool:
        if self._run.pool.retries_refusals:
            return False
        refused = CallFault.CONTENT_FILTERED
        return any(tried.fault is refused for tried in self._failures)

    async def _wait(self, worker: PoolWorker) -> None:
        failed = self._failed.get(worker.name)
        if failed is not None and failed.is_transient:
            times = sum(tried.worker == worker.name for tried in self._failures)
            run = self._run
            wait = wait_s(run.limits, run.ports.random, times, failed)
            await asyncio.sleep(wait)

    async def _ask(self, worker: PoolWorker) -> None:
        """Ask `worker`, and a rival as well if it is slow."""
        rival = self._rival(worker)
        if rival is None or worker.hedge_after_s is None:
            await self._try(worker)
            return
        race = Race(worker.hedge_after_s, lambda: self._try_rival(rival, race))
        await race.run(self._try(worker, race))

    @property
    def _has_another_attempt(self) -> bool:
        """Return whether the step may make a call beside the one that is next."""
        most, closed = self._run.limits.max_attempts, self._attempts.closed
        return attempts_left(self._failures, most, closed=closed) > 1

    def _has_substitute(self, worker: PoolWorker) -> bool:
        """Return whether another worker can take over if this one stays silent."""
        if not (self._run.is_call_streamed and self._has_another_attempt):
            return False
        return self._candidates.has_other(worker, self._failures)

    def _rival(self, worker: PoolWorker) -> PoolWorker | None:
        is_hedged = self._run.limits.is_hedged and worker.hedge_after_s is not None
        if not (is_hedged and self._has_another_attempt):
            return None
        others = untried(self._candidates.workers, self._failures)
        return next((w for w in others if w is not worker), None)

    async def _try_rival(self, worker: PoolWorker, race: Race) -> None:
        with suppress(LimitReached):  # no room for a rival: the first goes on alone
            await self._try(worker, race)

    async def _try(self, worker: PoolWorker, race: Race | None = None) -> None:
        """Make one call if the policies allow it, and keep what becomes of it."""
        place = self._place
        if self._voice is not None and self._voice.said:
            self._run.ports.gate.add_texts((self._voice.said,))
        await check_step(self._run, place.number, place.round_.plan, place.index)
        if worker.name in self._run.refused:
            return

        def called() -> None:
            self._start_clock()
            if race is not None:
                race.called()

        asked = self._asked(worker)
        asked = replace(
            asked,
            messages=messages_redacted(self._run, asked.messages),
            has_substitute=self._has_substitute(worker),
        )
        watch = Watch(called, None if race is None else race.lead)
        try:
            self._result = await self._attempts.make(asked, watch)
        except CallFailed as exc:
            self._note(asked, exc)

    def _asked(self, worker: PoolWorker) -> Asked:
        if self._repair is not None and self._repair.worker is worker:
            return self._repair
        messages = self._candidates.messages(worker)
        if self._refuses_prefill(worker):
            return Asked(worker, without_beginning(messages))
        said = self._voice.said if self._voice is not None else ""
        if not said or not worker.accepts_prefill:
            return Asked(worker, messages)
        return Asked(worker, continued_messages(messages, said), is_continued=True)

    def _refuses_prefill(self, worker: PoolWorker) -> bool:
        refused = CallFault.PREFILL_REFUSED
        return Tried(worker.name, refused) in self._failures

    def _note(self, asked: Asked, failed: CallFailed) -> None:
        name = asked.worker.name
        self._failed[name] = failed
        self._failures.append(Tried(name, failed.fault))
        self._retry_at.pop(name, None)
        if failed.wait_s is not None and failed.fault not in LASTING_FAULTS:
            now = asyncio.get_running_loop().time()
            self._retry_at[name] = now + failed.wait_s
        if isinstance(failed, InvalidOutput):
            what = ANSWER if self._rest is None else PLAN
            told = failed.answer, failed.problem, what
            self._run.ports.gate.add_texts(told[:2])
            messages = repair_messages(asked.messages, *told)
            self._repair = Asked(asked.worker, messages)

    def _start_clock(self) -> None:
        if self._clock.when() is None:
            now = asyncio.get_running_loop().time()
            self._clock.reschedule(now + self._run.limits.step_time_s)

    def _last_fault(self) -> tuple[str, str]:
        if reason := self._policy_refusal():
            return PlanFault.POLICY_DENIED, reason
        if not self._failures:
            return PlanFault.UNSUITED_WORKER, self._candidates.fault
        last = self._failures[-1]
        failed = self._failed.get(last.worker)
        return last.fault, failed.message if failed else f"failed before: {last.fault}"

    def _policy_refusal(self) -> str:
        """Return why the next worker was not called, if the policies are the reason."""
        worker = self._next_worker(self._all)
        if worker is None or worker.name not in self._run.refused:
            return ""
        return (
            f"worker {worker.name!r} may not be used: {self._run.refused[worker.name]}"
        )

    def _fail(self, fault: str, message: str) -> StepResult:
        place = self._place
        self._run.journal.post(StepFailed(place.number, place.index, fault, message))
        retry_at = min(self._retry_at.values(), default=None)
        return StepResult(
            "failed",
            message,
            fault=fault,
            refusal=self._said_last if fault == CallFault.CONTENT_FILTERED else "",
            retry_at=retry_at,
        )

    @property
    def _said_last(self) -> str:
        """Return the words of the provider that failed last; empty: it has none."""
        last = self._failed.get(self._failures[-1].worker) if self._failures else None
        return last.said if last is not None else ""


def _of_present(round_: Round, index: int, names: tuple[str, ...]) -> list[Tried]:
    """Return the failed calls of a step, without workers that have left the pool."""
    before = round_.failures.get(index, [])
    round_.failures[index] = [tried for tried in before if tried.worker in names]
    return round_.failures[index]
