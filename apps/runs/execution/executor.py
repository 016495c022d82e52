"""Executes the runs of one process on its event loop, a bounded number at a time.

Opened and closed with the process. On closing it gives unfinished runs back, for other
processes to take up from the ledger, or for the next one.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from django.conf import settings
from django.db import DatabaseError
from django.utils.module_loading import import_string

from apps.audit.types import Actor
from apps.audit.writer import close_writer
from apps.core.errors import (
    ConductorError,
    Conflict,
    InvalidInput,
    NotFound,
    Overloaded,
)
from apps.core.ids import new_id
from apps.engine import events as ev
from apps.engine.gate import Gate
from apps.llm.chat import ChatClient
from apps.llm.http import HttpTransport, open_transport
from apps.llm.vllm_metrics import read_load
from apps.runs.coordination.cancel_requests import CancelRequest
from apps.runs.coordination.leases import Ownership
from apps.runs.coordination.suspensions import SuspensionBoard
from apps.runs.errors import RunsSuspended
from apps.runs.execution.async_db import (
    idempotency_sweep,
    read_suspensions,
    reservations_keep,
)
from apps.runs.execution.circuit_breaker import CircuitBreakers
from apps.runs.execution.conductor_load import LoadGuard, LoadMonitor
from apps.runs.execution.conversation_memory import (
    KEPT_S,
    ConversationMemory,
    is_remembered,
    sticky,
)
from apps.runs.execution.cost_cap import BudgetGate, CostCap
from apps.runs.execution.endpoint_client import EndpointClient
from apps.runs.execution.instrumentation import Observer
from apps.runs.execution.latency_stats import LatencyStats
from apps.runs.execution.lease_keeper import LeaseKeeper
from apps.runs.execution.live_run import ProcessServices, RunExecution
from apps.runs.execution.prefill_refusals import PrefillNotes
from apps.runs.execution.prompt_embedding import prompts_embedded
from apps.runs.execution.resumer import Resumer
from apps.runs.execution.run_resolver import RunResolver
from apps.runs.execution.shared_turns import shared_turns
from apps.runs.execution.team_shares import TeamShares
from apps.runs.live.broadcaster import Broadcaster
from apps.runs.models import ProcessKind, Run
from apps.runs.planning.exploration import exploring, may_explore
from apps.runs.planning.families import FamilyNames
from apps.runs.planning.model_resolver import ResolvedModel, planned_by
from apps.runs.types import EmbeddedPrompts, RunArm, RunOrder

logger = logging.getLogger(__name__)
DRAIN_S = 5.0
"""How long closing waits for runs to let go of their connections."""
KEEP_S = 60.0
"""How often this process says that its runs go on, frees what dead ones held, and
forgets idempotency keys of yesterday."""


class Gates(Protocol):
    """What `settings.RUN_GATES` names: makes the gate of each run."""

    async def admit(self, order: RunOrder, resolved: ResolvedModel) -> RunOrder:
        """Return an order as it may be recorded; what may not be is gone from it."""
        ...

    def gate(self, run_id: uuid.UUID, order: RunOrder, resolved: ResolvedModel) -> Gate:
        """Return the gate of one run. Does not block."""
        ...


class Arms(Protocol):
    """What `settings.RUN_ARMS` names: says which run is on which side of a test."""

    async def arm(self, order: RunOrder, resolved: ResolvedModel) -> RunArm | None:
        """Return the side of an order; None: it is in no A/B test."""
        ...


class Exploration(Protocol):
    """What `settings.RUN_EXPLORATION` names: draws the runs that explore."""

    async def explores(self, team_id: uuid.UUID, run_id: uuid.UUID) -> bool:
        """Say whether a run is drawn, by its team's choice; always the same of one."""
        ...


class Executor:
    """The runs of this process."""

    def __init__(
        self, transport: HttpTransport, kind: ProcessKind = ProcessKind.WEB
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._transport = transport
        self._client = ChatClient(transport, settings.MAX_ANSWER_CHARACTERS)
        self._budget_gate = BudgetGate()
        self._gates: Gates = import_string(settings.RUN_GATES)()
        self._arms: Arms = import_string(settings.RUN_ARMS)()
        self._exploration: Exploration = import_string(settings.RUN_EXPLORATION)()
        self._live: dict[uuid.UUID, RunExecution] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._shares = TeamShares()
        self._is_closing = False
        self.suspensions = SuspensionBoard()
        self.broadcaster = Broadcaster(self.find)
        self.circuit_breakers = CircuitBreakers()
        self.latencies = LatencyStats()
        self._resolver = RunResolver(self.latencies)
        self._families = FamilyNames()
        self._resumer = Resumer(lambda run_id: run_id in self._live, self._resume)
        self._observer = Observer()
        self._prefills = PrefillNotes()
        self._conversations = ConversationMemory(shared_turns(KEPT_S))
        self.queues = LoadMonitor(
            partial(read_load, transport), settings.CONDUCTOR_MAX_QUEUE
        )
        self._keeper = asyncio.create_task(self._keep_rows())
        leaves_queue = kind == ProcessKind.WEB and settings.BACKGROUND_RUNS == "workers"
        self.lease_keeper = LeaseKeeper(self, kind, leaves_queue=leaves_queue)

    @property
    def live_ids(self) -> Collection[uuid.UUID]:
        """Return the runs that execute here."""
        return self._live.keys()

    @property
    def room(self) -> int:
        """Return how many more runs may execute here."""
        if self._is_closing:
            return 0
        working = sum(not run.is_waiting for run in self._live.values())
        return max(0, settings.MAX_LIVE_RUNS - working)

    def find(self, run_id: uuid.UUID) -> RunExecution | None:
        """Return the run if it is executing here."""
        return self._live.get(run_id)

    async def start(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> RunExecution:
        """Accept an order and begin; `run_id` must never have been used before.

        Raises: NotFound, InvalidInput, NotAllowed, BudgetExceeded, Overloaded;
        Conflict if `run_id` is executing.
        """
        self._refuse_when_full(order.team_id)
        run_id = run_id or new_id()
        order, resolved = await self._admit(*await self._check(order, run_id))
        cost_cap = await self._budget_gate.allow(order, resolved)
        await self._conversations.learn(order, resolved)
        # Others may have begun meanwhile, or the process may have begun to close.
        self._refuse_when_full(order.team_id)
        ownership = Ownership(self.lease_keeper.lease_id, 0)
        return self._begin(run_id, order, resolved, ownership, cost_cap)

    async def enqueue(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> uuid.UUID:
        """Put a run on record for whatever process claims it; return its id.

        Raises: as `start`; LedgerUnavailable.
        """
        self._refuse_when_closing()
        self.suspensions.require(order.team_id)
        run_id = run_id or new_id()
        order, resolved = await self._admit(*await self._check(order, run_id))
        cost_cap = await self._budget_gate.allow(order, resolved)
        unowned = Ownership(None, 0)
        execution = RunExecution(run_id, order, resolved, unowned, cost_cap)
        await execution.put_on_record(self._budget_gate)
        return run_id

    async def _admit(
        self, order: RunOrder, resolved: ResolvedModel
    ) -> tuple[RunOrder, ResolvedModel]:
        """Return an order as it may be recorded, with the plan that it brings.

        Raises: as the policies do.
        """
        admitted = await self._gates.admit(order, resolved)
        planner = admitted.served_planner
        if planner is not None and planner != order.served_planner:
            resolved = planned_by(resolved, planner)
        return admitted, resolved

    async def _check(
        self, order: RunOrder, run_id: uuid.UUID
    ) -> tuple[RunOrder, ResolvedModel]:
        """Return an order as it may begin; whether it explores is decided with it."""
        order, resolved = await self._on_its_side(order)
        if may_explore(order, resolved):
            explores = await self._exploration.explores(order.team_id, run_id)
            order = replace(order, explores=explores)
        return order, resolved

    async def _on_its_side(self, order: RunOrder) -> tuple[RunOrder, ResolvedModel]:
        """Return an order on its side of an A/B test if it has one.

        A request that the candidate can't take is in no test: its caller knows of none.
        """
        order = await self._families.bounded(order)
        checked, resolved = await self._resolver.check(order)
        arm = await self._arms.arm(checked, resolved)
        if arm is None:
            return checked, resolved
        if not arm.model:
            return replace(checked, arm=arm), resolved
        try:
            return await self._resolver.check(replace(order, arm=arm))
        except (NotFound, InvalidInput):
            return checked, resolved

    async def claim(self, run_id: uuid.UUID) -> bool:
        """Execute a run without an owner; False if there is no such run or no room."""
        return await self.lease_keeper.claim(run_id)

    async def take_up(self, runs: Sequence[Run]) -> None:
        """Go on with runs that are this process's now; end those that can't go on."""
        await self._resumer.take_up(runs)

    async def _resume(
        self, run: Run, order: RunOrder, history: Sequence[ev.Event]
    ) -> None:
        """Go on with a run after the events that are on record."""
        await self._refuse_suspended(order.team_id)
        resolved = await self._resolver.resolve(order)
        created = history[0]
        assert isinstance(created, ev.RunCreated)
        cost_cap = await self._budget_gate.keep(order, resolved, run.id, created)
        await self._conversations.learn(order, resolved)
        ownership = Ownership(run.owner_id, run.fence)
        self._begin(run.id, order, resolved, ownership, cost_cap, history)

    async def _refuse_suspended(self, team_id: uuid.UUID) -> None:
        """Refuse the runs of a suspended team by what is in force at this moment.

        What was read last is up to a second old, and a run that is refused here has
        failed for good. Only a refusal reads anew. Raises: RunsSuspended.
        """
        if self.suspensions.of(team_id) is not None:
            self.suspensions.replace(await read_suspensions())
            self.suspensions.require(team_id)

    async def embed(
        self, orders: Sequence[RunOrder], max_cost_micros: int | None
    ) -> EmbeddedPrompts:
        """Return the vectors of the prompts of some orders of one team, off the record.

        All name the same embedding worker as their model. Raises: NotFound,
        InvalidInput, NotAllowed, Overloaded.
        """
        first = orders[0]
        self._refuse_when_closing()
        self.suspensions.require(first.team_id)
        resolved = await self._resolver.resolve(first)
        client = EndpointClient(
            self._client,
            resolved.endpoints,
            first.team_id,
            self.circuit_breakers,
            self.latencies,
        )
        return await prompts_embedded(
            orders, resolved, client, self._gates, max_cost_micros
        )

    def stop(self, stop: CancelRequest) -> None:
        """Cancel a run of this process, as another process requested."""
        if (execution := self._live.get(stop.run_id)) is not None:
            execution.cancel(stop.reason, by=stop.actor)

    def stop_suspended(self) -> None:
        """Cancel the runs of suspended teams that execute here."""
        for execution in list(self._live.values()):
            if found := self.suspensions.of(execution.order.team_id):
                refusal = RunsSuspended(found.message)
                execution.cancel(found.message, by=found.actor, refusal=refusal)

    async def drop_all(self) -> None:
        """Stop executing, without a word on record: the runs are others' now."""
        for execution in list(self._live.values()):
            execution.abandon()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=DRAIN_S)

    async def close(self, drain_s: float = 0.0) -> None:
        """Let runs end for `drain_s`, give back the others, close every connection."""
        self._is_closing = True
        self._abandon_waiting()
        if self._tasks and drain_s:
            await asyncio.wait(self._tasks, timeout=drain_s)
        self._keeper.cancel()
        await self.drop_all()
        await self._prefills.close()
        await self.queues.close()
        await self.lease_keeper.end()
        await self.broadcaster.close()
        await self._conversations.close()
        await self._observer.close()
        await self._transport.aclose()

    def _abandon_waiting(self) -> None:
        """Give back the runs that wait for people: that may take days."""
        for execution in list(self._live.values()):
            if execution.is_waiting:
                execution.abandon()

    def _refuse_when_closing(self) -> None:
        if self._is_closing:
            raise Overloaded("this process is shutting down", retry_after_s=2)

    def _refuse_when_full(self, team_id: uuid.UUID) -> None:
        self._refuse_when_closing()
        self.suspensions.require(team_id)
        self._shares.require(team_id)

    def _begin(
        self,
        run_id: uuid.UUID,
        order: RunOrder,
        resolved: ResolvedModel,
        ownership: Ownership,
        cost_cap: CostCap | None,
        history: Sequence[ev.Event] = (),
    ) -> RunExecution:
        if run_id in self._live:
            raise Conflict(f"run {str(run_id)!r} is executing already")
        if order.explores:
            resolved = exploring(resolved, run_id)
        is_turn = is_remembered(order, resolved)
        resolved = sticky(order, resolved, self._conversations, self.circuit_breakers)
        execution = RunExecution(run_id, order, resolved, ownership, cost_cap, history)
        if is_turn:
            execution.listen(self._conversations.watch(order, history).hear)
        self.broadcaster.attach(execution)
        self._observer.attach(execution, resolved, history)
        model_client = EndpointClient(
            self._client,
            resolved.endpoints,
            order.team_id,
            self.circuit_breakers,
            self.latencies,
            order.vectors,
        )
        guard = LoadGuard(model_client, self.queues)
        self._shares.add(order.team_id)
        execution.on_waiting = partial(self._shares.set_aside, order.team_id)
        task = execution.start(
            ProcessServices(
                guard,
                self._gates.gate(run_id, order, resolved),
                self._budget_gate,
                self._prefills,
            )
        )
        self._live[run_id] = execution
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._forget(run_id, done))
        return execution

    async def _keep_rows(self) -> None:
        while True:
            await asyncio.sleep(KEEP_S)
            held = [run_id for run_id, run in self._live.items() if run.holds_money]
            try:
                await reservations_keep(held)
                await idempotency_sweep()
            except DatabaseError as exc:
                logger.warning("reservations or keys not swept this time: %s", exc)

    def _forget(self, run_id: uuid.UUID, task: asyncio.Task[None]) -> None:
        execution = self._live.pop(run_id, None)
        self._tasks.discard(task)
        self._observer.leave(run_id)
        if execution is not None:
            self._shares.remove(execution.order.team_id, execution.is_waiting)
        if execution is not None and execution.order.meter is not None:
            execution.order.meter.settle(execution.used_tokens)
        # The ledger is away, or refuses even to end the run: it stays on record as
        # running, and the next sweep takes it up.
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.error("run %s interrupted", run_id, exc_info=failure)


_executor: Executor | None = None


def get_executor() -> Executor:
    """Return this process's executor. Raises: Overloaded if none is open."""
    if _executor is None:
        raise Overloaded("this process executes no runs", retry_after_s=5)
    return _executor


def find_run(run_id: uuid.UUID, team_id: uuid.UUID) -> RunExecution | None:
    """Return a team's run if it is executing in this process."""
    execution = None if _executor is None else _executor.find(run_id)
    if execution is None or execution.order.team_id != team_id:
        return None
    return execution


def is_resting(team_id: uuid.UUID, base_url: str, model: str) -> bool:
    """Say whether this process keeps calls back from an endpoint that kept failing."""
    return _executor is not None and _executor.circuit_breakers.is_open(
        (team_id, base_url, model)
    )


async def open_executor(kind: ProcessKind = ProcessKind.WEB) -> Executor:
    """Open this process's executor on the running loop; it takes a lease.

    Raises: DatabaseError.
    """
    global _executor
    transport = open_transport(
        allowed_networks=settings.MODEL_NETWORKS, allowed_ports=settings.MODEL_PORTS
    )
    executor = Executor(transport, kind)
    await executor.lease_keeper.begin()
    _executor = executor
    return executor


async def close_executor(drain_s: float = 0.0) -> None:
    """Close it, then the ledger's writer; runs may go on for `drain_s` before."""
    global _executor
    executor, _executor = _executor, None
    if executor is not None:
        await executor.close(drain_s)
    await asyncio.to_thread(close_writer)


async def stop_run(run_id: uuid.UUID, reason: str, by: Actor | None) -> bool:
    """Cancel a run of this process; False if it was not this that ended it."""
    execution = get_executor().find(run_id)
    if execution is None:
        return False
    execution.cancel(reason, by=by)
    try:
        summary = await execution.finished()
    except ConductorError:
        return False
    # Its answer may have been on its way to the ledger already.
    return isinstance(summary.end, ev.RunCancelled)
