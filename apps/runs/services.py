"""Starting, queuing and stopping runs; reporting what they used.

`run_start` and `run_start_detached` are for code on the process's event loop, the other
functions for Django's threads; those return when what they did is durable.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from collections import defaultdict
from collections.abc import Collection, Coroutine, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Q
from django.utils.module_loading import import_string

from apps.accounts.principal import Principal
from apps.attachments.services import uses_add, uses_remove
from apps.audit.types import Actor
from apps.budgets.rate_limits import UNLIMITED, Admission
from apps.core.errors import Overloaded
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.runs.coordination.cancel_requests import cancel_request, cancels_await
from apps.runs.coordination.suspensions import runs_allow, runs_suspend
from apps.runs.execution.executor import Executor, find_run, get_executor, stop_run
from apps.runs.execution.idempotency_keys import (
    idempotency_claim,
    idempotency_holder,
    idempotency_release,
)
from apps.runs.forks import StepEdit, forked, order_again, with_model
from apps.runs.labels import (
    MOST_TAGS,
    TAG_LENGTH,
    labels_erase,
    run_tags_set,
    runs_tags_change,
)
from apps.runs.list_export import MOST_EXPORTED, RunListFormat, run_list_export
from apps.runs.models import Run, RunState, Source
from apps.runs.planning.prompt_limits import check_prompt
from apps.runs.search.indexing import runs_index, search_words_erase
from apps.runs.selection import MAX_SELECTED_RUNS, RunsChanged, UnchangedReason
from apps.runs.selectors import access_run
from apps.runs.types import (
    EmbeddedPrompts,
    LiveRun,
    RunOrder,
    UsageGroup,
    UsageRow,
)
from apps.runs.usage.report import usage_rows
from apps.runs.usage.rollup_schedule import RollupWatch, usage_watch

__all__ = [
    "MAX_SELECTED_RUNS",
    "MOST_EXPORTED",
    "MOST_TAGS",
    "TAG_LENGTH",
    "RollupWatch",
    "RunListFormat",
    "RunsChanged",
    "UnchangedReason",
    "idempotency_claim",
    "idempotency_holder",
    "idempotency_release",
    "prompts_embed_begin",
    "run_cancel",
    "run_find",
    "run_fork",
    "run_list_export",
    "run_rerun",
    "run_start",
    "run_start_blocking",
    "run_start_detached",
    "run_tags_set",
    "run_texts_erase",
    "runs_allow",
    "runs_cancel",
    "runs_index",
    "runs_suspend",
    "runs_tags_change",
    "usage_report",
    "usage_watch",
]
logger = logging.getLogger(__name__)
ResultT = TypeVar("ResultT")
SUBMIT_TIMEOUT_S = 30.0
"""A ledger that takes longer to accept a run counts as down."""


async def run_start(order: RunOrder, run_id: uuid.UUID | None = None) -> LiveRun:
    """Check an order and begin the run, under `run_id` if one is given: a new one.

    Nothing has happened yet when this returns, so a listener added at once misses
    nothing. Raises: InvalidInput, NotFound, Overloaded.
    """
    check_prompt(order)
    return await get_executor().start(order, run_id)


async def run_start_detached(
    order: RunOrder, run_id: uuid.UUID | None = None
) -> uuid.UUID:
    """Begin a run that its client does not wait for; return its id once it is durable.

    It executes here or in a worker process, as `settings.BACKGROUND_RUNS` says. Raises:
    as `run_start`; BudgetExceeded, LedgerUnavailable.
    """
    if settings.BACKGROUND_RUNS == "workers":
        return await _enqueue(order, run_id)
    return await _start_durably(order, run_id)


def run_start_blocking(
    order: RunOrder, run_id: uuid.UUID | None = None, *, detached: bool = False
) -> uuid.UUID:
    """Begin a run from a thread and return its id once it is durable.

    `detached`: as `run_start_detached`; else it executes in this process. Blocks; not
    for the event loop. Raises: as `run_start_detached`.
    """
    start = run_start_detached if detached else _start_durably
    if not order.attachments:
        return _on_loop(get_executor(), start(order, run_id))
    # Stored first: a run that is on record then never lacks its files.
    run_id = run_id or new_id()
    ids = [uuid.UUID(each["id"]) for each in order.attachments]
    uses_add(order.team_id, run_id, ids)
    try:
        return _on_loop(get_executor(), start(order, run_id))
    except Exception:
        if not Run.objects.for_team(order.team_id).filter(id=run_id).exists():
            uses_remove(run_id)
        raise


def prompts_embed_begin(
    orders: Sequence[RunOrder], max_cost_micros: int | None
) -> Future[EmbeddedPrompts]:
    """Begin to make the vectors of the prompts of some orders; see `Executor.embed`.

    `max_cost_micros`: what all calls may cost; None: no limit. Returns at once; a
    cancelled future closes the call. For threads. Raises: Overloaded if this process
    executes no runs.
    """
    executor = get_executor()
    return _begun(executor, executor.embed(orders, max_cost_micros))


def run_find(run_id: uuid.UUID, team_id: uuid.UUID) -> LiveRun | None:
    """Return a team's run if it is executing in this process. Never blocks."""
    return find_run(run_id, team_id)


def run_rerun(
    run: Run,
    principal: Principal,
    admission: Admission = UNLIMITED,
    *,
    model: str | None = None,
    source: str = Source.PLAYGROUND,
) -> uuid.UUID:
    """Run the same prompt again, with the pool as it is now; return the new run's id.

    `model` replaces the recorded one, and with it everything that planned in the place
    of that model's planner: a run of an evaluation repeats its system otherwise. The
    limits of the first run's API key never apply: those of `principal` do. The
    restrictions that came with the first request stay, except, with another `model`,
    the list of workers. Blocks; not for the loop.
    Raises: as `run_start_blocking`; NotFound if the run's first entry is not there,
    InvalidInput if its prompt has been erased.
    """
    order = order_again(run, principal, admission, source)
    if model:
        order = with_model(order, model)
    return run_start_blocking(order)


def run_fork(
    run: Run,
    principal: Principal,
    admission: Admission = UNLIMITED,
    *,
    edit: StepEdit | None = None,
    source: str = Source.PLAYGROUND,
) -> uuid.UUID:
    """Run a recorded plan again, with the pool as it is now; return the new run's id.

    With `edit`, one step is changed and only it and the steps that depend on it are
    run: the others keep their answers, which are not paid for again. Limits, and what
    it raises: as `run_rerun`; InvalidInput if there is no such plan, its texts have
    been erased, or the pool can't run it any more.
    """
    order = order_again(run, principal, admission, source)
    return run_start_blocking(forked(order, run, edit))


def run_cancel(
    *, run_id: uuid.UUID, team_id: uuid.UUID, actor: Actor, reason: str
) -> bool:
    """Stop a run of a team, in whatever process; return False if it was over.

    Blocks for seconds if it executes elsewhere; not for the loop. Raises: NotFound.
    """
    if find_run(run_id, team_id) is not None:
        return _on_loop(get_executor(), stop_run(run_id, reason, actor))
    run = access_run(team_id=team_id, run_id=run_id)
    if run.is_over:
        return False
    cancel_request(run, reason, actor)
    return cancels_await(team_id, [run.id]).get(run.id) == RunState.CANCELLED


def runs_cancel(
    *, team_id: uuid.UUID, runs: Sequence[Run], actor: Actor, reason: str
) -> RunsChanged:
    """Stop some runs of a team together, each as `run_cancel` does.

    Blocks for seconds, however many they are; not for the loop.
    """
    stops = {
        run.id: _begun(get_executor(), stop_run(run.id, reason, actor))
        for run in runs
        if find_run(run.id, team_id) is not None
    }
    elsewhere = [run for run in runs if run.id not in stops and not run.is_over]
    for run in elsewhere:
        cancel_request(run, reason, actor)
    is_stopped = {run_id: _result_of(stop) for run_id, stop in stops.items()}
    states = cancels_await(team_id, [run.id for run in elsewhere])
    changed: list[Run] = []
    unchanged: dict[UnchangedReason, list[Run]] = defaultdict(list)
    for run in runs:
        state = states.get(run.id)
        if is_stopped.get(run.id) or state == RunState.CANCELLED:
            changed.append(run)
        elif state == RunState.RUNNING:
            unchanged[UnchangedReason.STOPPING].append(run)
        else:
            unchanged[UnchangedReason.OVER].append(run)
    return RunsChanged(changed, unchanged)


def usage_report(
    *,
    team_id: uuid.UUID,
    groups: Collection[UsageGroup],
    since: datetime,
    until: datetime,
) -> dict[UsageGroup, list[UsageRow]]:
    """Return what `usage_by` does, for each of several groupings."""
    return usage_rows(team_id, groups, since, until)


def run_texts_erase(team_id: uuid.UUID, run_ids: Collection[uuid.UUID]) -> None:
    """Remove titles, error messages, labels and search words of some runs.

    Ids that are not of runs are ignored. Call it in the transaction that erases the
    bodies, before they are erased.
    """
    search_words_erase(team_id, run_ids)
    labels_erase(team_id, run_ids)
    rows = Run.objects.for_team(team_id).filter(id__in=run_ids)
    has_texts = ~Q(title="") | ~Q(error_message="")
    rows.filter(has_texts).update(title="", error_message="")


async def _start_durably(order: RunOrder, run_id: uuid.UUID | None = None) -> uuid.UUID:
    live = await run_start(order, run_id)
    await _on_record(live)
    return live.id


async def _enqueue(order: RunOrder, run_id: uuid.UUID | None) -> uuid.UUID:
    """Put a run on record for a worker process, and wake one."""
    check_prompt(order)
    run_id = await get_executor().enqueue(order, run_id)
    if settings.RUN_WAKER:
        await asyncio.to_thread(_notify_of_run, run_id)
    return run_id


def _notify_of_run(run_id: uuid.UUID) -> None:
    try:
        import_string(settings.RUN_WAKER)(run_id)
    except Exception:  # the boundary to a broker: the sweeps find the run as well
        logger.exception("no worker woken for run %s", run_id)


async def _on_record(live: LiveRun) -> None:
    loop = asyncio.get_running_loop()
    on_record: asyncio.Future[None] = loop.create_future()

    def hear(signal: object) -> None:
        if isinstance(signal, ev.RunCreated) and not on_record.done():
            on_record.set_result(None)

    live.listen(hear)
    over = asyncio.create_task(_wait_for(live))
    first = (on_record, over)
    try:
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not on_record.done():
            await over  # raises why the run never got on record
    except asyncio.CancelledError:
        live.cancel("not recorded in time")  # nobody would know of it
        raise
    finally:
        live.unlisten(hear)
        over.cancel()


async def _wait_for(live: LiveRun) -> None:
    await live.finished()


def _begun(executor: Executor, work: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
    # In a context of its own: asgiref's would send the work's database calls to the
    # very thread that waits here.
    submit = asyncio.run_coroutine_threadsafe
    return contextvars.Context().run(submit, work, executor.loop)


def _on_loop(executor: Executor, work: Coroutine[Any, Any, ResultT]) -> ResultT:
    return _result_of(_begun(executor, work))


def _result_of(future: Future[ResultT]) -> ResultT:
    try:
        return future.result(SUBMIT_TIMEOUT_S)
    except TimeoutError as exc:
        future.cancel()
        raise Overloaded("the ledger does not answer", retry_after_s=5) from exc
