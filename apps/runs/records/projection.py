"""From a run's events to the rows that lists and filters read.

Each commit of a run writes its row once: all columns at the first commit, afterwards
all that can change. Absolute values, so a replayed history leads to the same row.
Written as plain SQL, because this runs for every run in the ledger's own thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson

from apps.audit.types import RowWrite
from apps.core.plain_text import plain
from apps.engine import events as ev
from apps.engine.messages import typed_last
from apps.runs.coordination.leases import Ownership
from apps.runs.coordination.plan_approvals import requested, settled, withdrawn
from apps.runs.label_types import METADATA_VALUE_LENGTH
from apps.runs.models import TITLE_CHARACTERS, RunState
from apps.runs.planning.model_resolver import tier_named
from apps.runs.records.end_facts import end_facts
from apps.runs.records.plan_shapes import shape_of
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView
from apps.runs.types import RunOrder

_FIXED = (
    "id",
    "team_id",
    "source",
    "model",
    "pool_name",
    "pool_version",
    "title",
    "actor_type",
    "actor_id",
    "actor_name",
    "user_id",
    "api_key_id",
    "ab_test_id",
    "ab_arm",
    "tier",
    "family",
    "preset_id",
    "created_at",
    "owner_id",
    "fence",
)
CHANGING = (
    "state",
    "planner",
    "plan",
    "shape",
    "steps_total",
    "steps_done",
    "prompt_tokens",
    "completion_tokens",
    "orchestration_prompt_tokens",
    "orchestration_completion_tokens",
    "cost_micros",
    "has_unknown_cost",
    "latency_ms",
    "overhead_ms",
    "error_code",
    "error_message",
    "first_token_ms",
    "asked_tokens",
    "answer_tokens",
    "findings",
)
"""Columns that follow from a run's events alone; see `run_columns`."""
_CHANGING = (*CHANGING, "finished_at")
_COLUMNS = _FIXED + _CHANGING
INSERT_RUN = (
    f"INSERT INTO runs_run ({', '.join(_COLUMNS)}) "  # nosec B608
    f"VALUES ({', '.join(['%s'] * len(_COLUMNS))})"
)
UPDATE_RUN = (
    f"UPDATE runs_run SET {' = %s, '.join(_CHANGING)} = %s "  # nosec B608
    "WHERE id = %s AND fence = %s"
)
INSERT_LABEL = (
    "INSERT INTO runs_runlabel (team_id, name, value, run_id) VALUES (%s, %s, %s, %s)"
)
HOLD_KEY = (
    "UPDATE runs_idempotencykey SET run_id = run_id "
    'WHERE team_id = %s AND "key" = %s AND run_id = %s'
)
"""For the commit that puts a run on record: a release of its idempotency key waits for
this commit, or makes it fail."""
CHECK_FENCE = "UPDATE runs_run SET fence = fence WHERE id = %s AND fence = %s"
"""For commits that change nothing a list shows: whose the run is still counts."""
INSERT_STEP = (
    'INSERT INTO runs_step (run_id, team_id, round, "index", worker, state, attempts, '
    "prompt_tokens, completion_tokens, cost_micros, latency_ms) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
STEP_COLUMNS = (
    "worker",
    "state",
    "attempts",
    "prompt_tokens",
    "completion_tokens",
    "cost_micros",
    "latency_ms",
)
UPDATE_STEP = (
    "UPDATE runs_step SET worker = %s, state = %s, attempts = %s, prompt_tokens = %s, "
    "completion_tokens = %s, cost_micros = %s, latency_ms = %s "
    'WHERE run_id = %s AND round = %s AND "index" = %s'
)
"""Of a step that has its answer: what a worker asked beside it came to."""
_NO_NEWS = (ev.PlanRequested, ev.StepStarted)
"""Events that change nothing a list shows."""
RUNNING = RunState.RUNNING.value


class RunProjection:
    """The rows of one run, as its events make them."""

    def __init__(
        self,
        run_id: object,
        order: RunOrder,
        created_at: datetime,
        ownership: Ownership,
    ) -> None:
        self.view = RunView(keeps_texts=False)
        self._ownership = ownership
        self._key = (run_id, ownership.fence)
        self._run_id = run_id
        self._order = order
        self._created_at = created_at
        self._is_inserted = False
        self._steps: set[tuple[int, int]] = set()
        """Steps that have a row."""

    def replay(self, events: Sequence[ev.Event]) -> None:
        """Take events that have been recorded before."""
        for event in events:
            self.view.add(event)
        self._steps |= {step.place for step in self.view.steps if step.is_over}
        self._is_inserted = True

    def writes(self, events: Sequence[ev.Event]) -> tuple[RowWrite, ...]:
        """Take new events; return the writes that must be committed with them.

        The commit fails if the run is in other hands by then.
        """
        writes = []
        is_news = not self._is_inserted
        for event in events:
            is_news = is_news or not isinstance(event, _NO_NEWS)
            writes += self._approval_writes(event)
            step = self.view.add(event)
            if step is not None and step.is_over:
                writes.append(self._step_write(step))
        if not self._is_inserted and self._order.idempotency_key:
            writes.append(self._key_write())
        if not self._is_inserted:
            writes += self._label_writes()
        if is_news:
            writes.append(self._run_write())
        else:
            writes.append(RowWrite(CHECK_FENCE, self._key, must_change_row=True))
        return tuple(writes)

    def _approval_writes(self, event: ev.Event) -> list[RowWrite]:
        """Return the writes of an approval; `event` is not in the view yet."""
        match event:
            case ev.ApprovalRequested():
                order = self._order
                return [requested(self._run_id, order.team_id, order.user_id, event)]
            case ev.ApprovalSettled():
                return [settled(self._run_id, event)]
            case ev.RunCompleted() | ev.RunFailed() | ev.RunCancelled():
                if self.view.open_approval is not None:
                    return [withdrawn(self._run_id)]
        return []

    def _run_write(self) -> RowWrite:
        if self._is_inserted:
            values = (*self._changing(), *self._key)
            return RowWrite(UPDATE_RUN, values, must_change_row=True)
        self._is_inserted = True
        return RowWrite(INSERT_RUN, (*self._fixed(), *self._changing()), phase=0)

    def _label_writes(self) -> list[RowWrite]:
        team_id, run_id = self._order.team_id, self._run_id
        return [
            # Placeholders of what is kept off the record may be longer.
            RowWrite(
                INSERT_LABEL,
                (team_id, name, value[:METADATA_VALUE_LENGTH], run_id),
                phase=1,
            )
            for name, value in self._order.metadata.items()
            if name  # a row without one is a tag
        ]

    def _key_write(self) -> RowWrite:
        order = self._order
        values = (order.team_id, order.idempotency_key, self._run_id)
        return RowWrite(HOLD_KEY, values, must_change_row=True)

    def _fixed(self) -> tuple[object, ...]:
        order, actor = self._order, self._order.actor
        return (
            self._run_id,
            order.team_id,
            order.source,
            order.model,
            self.view.pool,
            self.view.pool_version,
            title_of(typed_last(order.messages, order.prompt, len(order.attachments))),
            actor.type,
            actor.id,
            actor.display,
            order.user_id,
            order.api_key_id,
            order.arm.test_id if order.arm else None,
            order.arm.letter if order.arm else "",
            tier_named(order.model),
            order.family,
            order.preset.preset_id if order.preset else None,
            self._created_at,
            *self._ownership,
        )

    def _changing(self) -> tuple[object, ...]:
        now = datetime.now(UTC) if self.view.end else None
        return (*run_columns(self.view), now)

    def _step_write(self, step: StepView) -> RowWrite:
        place = step.place
        if place in self._steps:
            values = (*step_columns(step), self._run_id, *place)
            return RowWrite(UPDATE_STEP, values, phase=2)
        self._steps.add(place)
        values = (self._run_id, self._order.team_id, *place, *step_columns(step))
        return RowWrite(INSERT_STEP, values, phase=1)


def run_columns(view: RunView) -> tuple[object, ...]:
    """Return what the row of a run says by its events: the columns `CHANGING`."""
    failed = view.end if isinstance(view.end, ev.RunFailed) else None
    facts = end_facts(view)
    found = facts["findings"]
    return (
        view.state if view.is_over else RUNNING,
        view.planner,
        orjson.dumps(view.plan_drawing).decode(),
        shape_of([step.access for step in view.newest_plan]).key,
        view.steps_planned,
        view.steps_done,
        view.usage.prompt_tokens,
        view.usage.completion_tokens,
        view.orchestration_usage.prompt_tokens,
        view.orchestration_usage.completion_tokens,
        view.cost.micros,
        view.has_unknown_cost,
        view.latency_ms,
        view.overhead_ms,
        failed.code if failed else "",
        failed.message.replace("\0", "") if failed else "",
        facts["first_token_ms"],
        facts["asked_tokens"],
        facts["answer_tokens"],
        None if found is None else orjson.dumps(found).decode(),
    )


def step_columns(step: StepView) -> tuple[object, ...]:
    """Return what the row of a step that has ended says: the columns `STEP_COLUMNS`."""
    usage, cost = step.usage, step.cost
    return (
        step.worker,
        step.state,
        step.attempts,
        usage.prompt_tokens,
        usage.completion_tokens,
        None if cost.has_unknown else cost.micros,
        step.latency_ms,
    )


def title_of(prompt: str) -> str:
    """Return the beginning of a prompt on one line, safe beside other text."""
    line = plain(" ".join(prompt[: 4 * TITLE_CHARACTERS].split()))
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[: TITLE_CHARACTERS - 1] + "…"
