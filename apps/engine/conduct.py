"""The way in: conducts one run from prompt to answer.

Guarantees: no call leaves before its event is durable; a completed step never runs
again; no limit is crossed by a call that starts; however a run ends, its last event
says so with the sums of all calls. Does not choose adapters, store or display.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import ceil

from apps.engine.calls import ModelCalls
from apps.engine.errors import (
    CallFault,
    LimitKind,
    LimitReached,
    PlanFault,
    RunDenied,
)
from apps.engine.events import (
    Event,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunResumed,
)
from apps.engine.gate import check_run
from apps.engine.journal import Journal
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.planning import make_plan
from apps.engine.ports import CONTENT_FILTER, Pool, Ports, Task
from apps.engine.replay import Round, StepResult, replay
from apps.engine.rounds import run_round
from apps.engine.run import RunContext
from apps.engine.structured import delivered
from apps.engine.usage import Usage

_CODES: Mapping[str, str] = {
    CallFault.CONTEXT_LENGTH: "context_length_exceeded",
    CallFault.CONTENT_FILTERED: "content_filtered",
    CallFault.INVALID_OUTPUT: "invalid_structured_output",
    PlanFault.POLICY_DENIED: "policy_denied",
}
"""Faults of a step after which a failed run has a code of its own."""


async def conduct(
    task: Task,
    pool: Pool,
    ports: Ports,
    limits: Limits,
    *,
    history: Sequence[Event] = (),
    opening: Event | None = None,
) -> RunCompleted | RunFailed | RunCancelled:
    """Conduct a run and return its last event, which is durable by then.

    `history` is what has been recorded of the run already: the run goes on from there.
    One that has only been created begins.
    `opening` is recorded with the first commit of a new run.
    Raises: CancelledError if the task is cancelled (`run.cancelled` is recorded first
    unless `ports.stop_reason()` is None); whatever the recorder raises.
    """
    meter = Meter(limits)
    state = replay(history, meter)
    if state.end is not None:
        return state.end
    journal = Journal(ports.recorder, ports.progress)
    calls = ModelCalls(ports.client, limits, meter)
    run = RunContext(task, pool, ports, limits, state, meter, journal, calls)
    if opening is not None:
        journal.note(opening)
    if any(not isinstance(event, RunCreated) for event in history):
        journal.note(RunResumed(state.unknown_calls))
    return await _Conductor(run).conduct()


class _Conductor:
    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._started = asyncio.get_running_loop().time()

    async def conduct(self) -> RunCompleted | RunFailed:
        run = self._run
        try:
            await check_run(run)
            end = await self._conduct_in_time()
        except LimitReached as exc:
            end = self._failed(f"limit_{exc.kind}", exc.message)
        except RunDenied as exc:
            end = self._failed(exc.code, exc.reason)
        except asyncio.CancelledError:
            reason = run.ports.stop_reason()
            if reason is not None:
                run.journal.note(RunCancelled(reason, *self._sums()))
            await run.journal.commit()  # the calls just closed, in any case
            raise
        await run.journal.commit(end)
        return end

    async def _conduct_in_time(self) -> RunCompleted | RunFailed:
        wall_time_s = self._run.limits.wall_time_s
        clock = self._run.clock = asyncio.timeout(wall_time_s)
        try:
            async with clock:
                return await self._conduct_rounds()
        except TimeoutError:
            if not clock.expired():
                raise
            raise LimitReached(
                LimitKind.WALL_TIME, f"the run may take {wall_time_s:g} s"
            ) from None

    async def _conduct_rounds(self) -> RunCompleted | RunFailed:
        rounds = self._run.state.rounds
        if rounds:
            await run_round(self._run, len(rounds) - 1, rounds[-1])
        while not rounds or self._must_plan():
            round_ = await make_plan(self._run)
            if round_ is None:
                break
            await run_round(self._run, len(rounds) - 1, round_)
        return self._conclude()

    def _must_plan(self) -> bool:
        run = self._run
        if run.state.is_kept:
            return False
        last = run.state.rounds[-1]
        if last.planned_rest is not None:
            return run.may_recurse or run.may_replan
        if last.answer is None:
            is_final = run.keeps_refusal(last) or (
                last.fault == CallFault.INVALID_OUTPUT and not last.plan.plans_rest
            )
            return run.may_replan and not is_final
        if last.answer.tool_calls:
            return False  # only the caller can go on from here
        return run.may_recurse

    def _conclude(self) -> RunCompleted | RunFailed:
        rounds = self._run.state.rounds
        last = rounds[-1]
        is_refused = last.fault == CallFault.CONTENT_FILTERED
        if is_refused and self._run.keeps_refusal(last) and not self._run.has_spoken:
            return self._refused(last)
        answer = _last_answer(rounds)
        is_broken = self._run.has_spoken and rounds[-1].answer is None
        if (
            answer is None or is_broken
        ):  # what went out can't be replaced by an older one
            return self._worker_failed()
        text, refusal = answer.text, answer.refusal
        # Beside calls a text need not have any form, and a refusal has none.
        if not answer.tool_calls and answer.finish_reason != CONTENT_FILTER:
            text = delivered(text, self._run.task.params.response_format)
        tool_calls = answer.tool_calls
        if self._run.restores:
            gate = self._run.ports.gate
            text = gate.restore(text)
            tool_calls = gate.restore(tool_calls, in_json=True)
            refusal = gate.restore(refusal)
        return RunCompleted(
            text,
            answer.finish_reason,
            *self._sums(),
            tool_calls,
            answer.stop_sequence,
            refusal,
        )

    def _refused(self, round_: Round) -> RunCompleted:
        """Return the end of a run whose last step was refused without a word of it."""
        result = round_.results[len(round_.plan.steps) - 1]
        refusal = result.refusal or result.text
        if self._run.restores:
            refusal = self._run.ports.gate.restore(refusal)
        sums = self._sums()
        return RunCompleted("", CONTENT_FILTER, *sums, refusal=refusal)

    def _worker_failed(self) -> RunFailed:
        last = self._run.state.rounds[-1]
        failed = [r for r in last.results.values() if r.state == "failed"]
        code = _CODES.get(failed[-1].fault if failed else "", "worker_failed")
        if self._run.has_spoken:
            code = "stream_interrupted"
        message = failed[-1].text if failed else "no step answered"
        is_lasting = last.has_lasting_failure
        wait_s = None if is_lasting else _retry_after_s(failed)
        return self._failed(code, message, is_lasting=is_lasting, retry_after_s=wait_s)

    def _failed(
        self,
        code: str,
        message: str,
        *,
        is_lasting: bool = False,
        retry_after_s: int | None = None,
    ) -> RunFailed:
        rounds = self._run.state.rounds
        answer = _last_answer(rounds)
        best = answer.text if answer else _best_text(rounds)
        sums = self._sums()
        return RunFailed(code, message, best, *sums, is_lasting, retry_after_s)

    def _sums(self) -> tuple[Usage, int, bool, int, int]:
        meter = self._run.meter
        elapsed = asyncio.get_running_loop().time() - self._started
        worked_s = elapsed - self._run.paused_s
        return (
            meter.usage,
            meter.cost.micros,
            meter.cost.has_unknown,
            round(worked_s * 1000),
            round((worked_s - meter.waited_s) * 1000),
        )


def _last_answer(rounds: Sequence[Round]) -> StepResult | None:
    """Return the newest answer: a later round that failed takes nothing away."""
    return next((r.answer for r in reversed(rounds) if r.answer), None)


def _retry_after_s(failed: Sequence[StepResult]) -> int | None:
    """Return in how many whole seconds the failed steps may succeed; None: unknown."""
    times = [result.retry_at for result in failed if result.retry_at is not None]
    if not times:
        return None
    return max(1, ceil(max(times) - asyncio.get_running_loop().time()))


def _best_text(rounds: Sequence[Round]) -> str:
    """Return the newest completed response of any step, plans left out, or nothing."""
    for round_ in reversed(rounds):
        for index in sorted(round_.results, reverse=True):
            is_plan = round_.plan.is_planning(index)
            if round_.results[index].state == "completed" and not is_plan:
                return round_.results[index].text
    return ""
