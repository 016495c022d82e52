"""One round: runs a plan's steps in parallel, in the order their access lists allow."""

from __future__ import annotations

import asyncio

from apps.engine.attempts import Superseded
from apps.engine.events import StepSkipped
from apps.engine.replay import Round, StepResult
from apps.engine.run import RunContext
from apps.engine.steps import StepRunner

UNNEEDED = "the answer does not depend on it"
PLANNED_AGAIN = "another step failed, so the work is planned again"


async def run_round(run: RunContext, number: int, round_: Round) -> None:
    """Run every step of `round_` that has no result yet.

    A step starts when all steps on its access list have ended. After a failure no new
    step starts if the run may plan again; else the rest goes on without the failed
    response. Raises: LimitReached, RunDenied, whatever the recorder raises; then the
    steps in flight are closed.
    """
    steps = [i for i in sorted(round_.plan.needed()) if i not in round_.results]
    if len(steps) == 1:
        await _run_step(run, number, round_, steps[0])
        return
    ended = {i: asyncio.Event() for i in steps}
    try:
        async with asyncio.TaskGroup() as group:
            for index in steps:
                group.create_task(_run_in_turn(run, number, round_, index, ended))
    except BaseExceptionGroup as exc:
        raise _most_telling(exc) from None


async def _run_in_turn(
    run: RunContext,
    number: int,
    round_: Round,
    index: int,
    ended: dict[int, asyncio.Event],
) -> None:
    for earlier in round_.plan.steps[index].access:
        if earlier in ended:
            await ended[earlier].wait()
    await _run_step(run, number, round_, index)
    ended[index].set()


async def _run_step(run: RunContext, number: int, round_: Round, index: int) -> None:
    is_new = index not in round_.attempts
    try:
        if is_new and run.is_superseded(round_):
            raise Superseded
        round_.results[index] = await StepRunner(run, number, round_, index).run()
    except Superseded:
        run.journal.note(StepSkipped(number, index, PLANNED_AGAIN))
        round_.results[index] = StepResult("skipped", PLANNED_AGAIN)


def _most_telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first real error of a group; the others are its consequences."""
    first = group.exceptions[0]
    return _most_telling(first) if isinstance(first, BaseExceptionGroup) else first
