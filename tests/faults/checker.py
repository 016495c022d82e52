"""Judges a history: which promises of the product it breaks, and the figures.

Pure: it knows nothing of processes and databases, so made-up histories prove that it
sees each defect (`test_checker.py`).
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.faults.history import ENDS, History, Recorded, RunRow

RUNNING, COMPLETED, FAILED, CANCELLED = "running", "completed", "failed", "cancelled"
OWNER_LOST, MAX_DEATHS = "owner_lost", 3
FAILURES = {
    "plan.call_failed": "plan.requested",
    "step.attempt_failed": "step.started",
}
"""Entries of failed calls, and those that announced the calls."""
CALLS = frozenset(FAILURES.values())
"""Entries that announce a call of a model."""
CALL_ENDS = frozenset({*FAILURES, "plan.replied", "step.completed"})
Names = tuple[str, ...]


BY_PEOPLE = frozenset({"approval.granted", "approval.plan_edited", "approval.refused"})
"""What people decide about a run: written by the process that showed them the page."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong, by promise; the figures beside it are no defects."""

    lost: Names
    """A client was told of them, and the record does not have them."""
    stuck: Names
    """Unfinished when patience was over."""
    endless: Names
    """Over, but with none or several last entries, or another end than the row's."""
    doubled_steps: Names
    """More than one completion of one step on record."""
    rerun_steps: Names
    """Called again after their completion was on record."""
    doubled_runs: Names
    """Jobs whose requests had one idempotency key, and led to several runs."""
    unanswered: Names
    """A client holds an answer that the record does not have."""
    stale_writes: Names
    """Committed by a process that did not own the run."""
    unjust_ends: Names
    """Failed without a fault of their own: the models here make none."""
    unexplained_calls: Names
    """More calls of a step than one, one for each failure and each resumption."""
    unannounced_calls: int
    """Calls that the provider counted and nobody recorded."""
    money: Names
    """Set aside for ever, or spent otherwise than recorded."""
    ledger: str
    """What `audit_verify` has against it."""

    accepted: int
    states: dict[str, int]
    codes: dict[str, int]
    """Of failed runs. None of them stands for an unknown outcome."""
    resumed: int
    unknown_calls: int
    """Calls whose outcome nobody will ever know, told apart from those that failed."""
    extra_calls: int
    """Calls that a run without faults would not have made."""

    @property
    def defects(self) -> list[str]:
        """Return a sentence for each promise that is broken."""
        found = [
            f"{name.replace('_', ' ')}: {len(names)}, {', '.join(names[:5])}"
            for name in DEFECTS
            if (names := getattr(self, name))
        ]
        if self.unannounced_calls > 0:
            found.append(f"calls that nobody announced: {self.unannounced_calls}")
        if self.ledger:
            found.append(f"ledger: {self.ledger}")
        return found

    @property
    def figures(self) -> dict[str, object]:
        """Return the counts, those of defects first."""
        counts: dict[str, object] = {name: len(getattr(self, name)) for name in DEFECTS}
        rest = ("accepted", "states", "codes", "resumed", "unknown_calls")
        counts |= {name: getattr(self, name) for name in rest}
        return counts | {"extra_calls": self.extra_calls}


DEFECTS = (
    "lost",
    "stuck",
    "endless",
    "doubled_steps",
    "rerun_steps",
    "doubled_runs",
    "unanswered",
    "stale_writes",
    "unjust_ends",
    "unexplained_calls",
    "money",
)


def check(history: History) -> Verdict:
    """Judge `history`."""
    rows = {row.id: row for row in history.runs}
    by_run: dict[uuid.UUID, list[Recorded]] = defaultdict(list)
    for entry in history.entries:
        by_run[entry.run_id].append(entry)
    calls = [entry for entry in history.entries if entry.action in CALLS]
    states = Counter(row.state for row in history.runs)
    return Verdict(
        lost=_named(_lost(history, rows, by_run)),
        stuck=_named(row.id for row in history.runs if row.state == RUNNING),
        endless=_named(_endless(rows, by_run)),
        doubled_steps=_steps(_completions(history)),
        rerun_steps=_rerun(history.entries),
        doubled_runs=_doubled_runs(history),
        unanswered=_named(
            told.run_id
            for told in history.accepted
            if told.is_answered and _state(rows, told.run_id) != COMPLETED
        ),
        stale_writes=_stale(history),
        unjust_ends=_named(
            row.id for row in history.runs if row.state == FAILED and not _is_just(row)
        ),
        unexplained_calls=_unexplained(calls, by_run),
        unannounced_calls=max(0, history.provider_calls - len(calls)),
        money=tuple(_money(history)),
        ledger=history.ledger,
        accepted=len({told.run_id for told in history.accepted} | rows.keys()),
        states=dict(states),
        codes=dict(Counter(row.error_code for row in rows.values() if row.error_code)),
        resumed=sum(entry.action == "run.resumed" for entry in history.entries),
        unknown_calls=_unknown(history.entries),
        extra_calls=len(calls) - len({_call(entry) for entry in calls}),
    )


def _is_just(row: RunRow) -> bool:
    return row.error_code == OWNER_LOST and row.deaths >= MAX_DEATHS


def _state(rows: dict[uuid.UUID, RunRow], run_id: uuid.UUID) -> str:
    return rows[run_id].state if run_id in rows else ""


def _lost(
    history: History,
    rows: dict[uuid.UUID, RunRow],
    by_run: dict[uuid.UUID, list[Recorded]],
) -> set[uuid.UUID]:
    told = {accepted.run_id for accepted in history.accepted} | rows.keys()
    begun = {
        run_id
        for run_id, entries in by_run.items()
        if entries[0].action == "run.created"
    }
    return told - (rows.keys() & begun)


def _endless(
    rows: dict[uuid.UUID, RunRow], by_run: dict[uuid.UUID, list[Recorded]]
) -> list[uuid.UUID]:
    found = []
    for run_id, row in rows.items():
        ends = [e.action for e in by_run.get(run_id, ()) if e.action in ENDS]
        expected = [] if row.state == RUNNING else [f"run.{row.state}"]
        if ends != expected:
            found.append(run_id)
    return found


def _completions(history: History) -> Counter[tuple[object, ...]]:
    return Counter(e.step for e in history.entries if e.action == "step.completed")


def _steps(counts: Counter[tuple[object, ...]]) -> Names:
    return tuple(_words(step) for step, count in counts.items() if count > 1)


def _words(step: tuple[object, ...]) -> str:
    return " ".join(str(part) for part in step)


def _rerun(entries: Iterable[Recorded]) -> Names:
    completed: set[tuple[object, ...]] = set()
    found = []
    for entry in entries:
        if entry.action == "step.completed":
            completed.add(entry.step)
        elif entry.action == "step.started" and entry.step in completed:
            found.append(_words(entry.step))
    return tuple(found)


def _doubled_runs(history: History) -> Names:
    # Who leaves before the answer gives the key back: the run they left is cancelled.
    runs = Counter(row.job for row in history.runs if row.state != CANCELLED)
    return tuple(job for job in sorted(history.keyed_jobs) if runs[job] > 1)


def _stale(history: History) -> Names:
    actions = {entry.seq: entry for entry in history.entries}
    found = []
    for written in history.written:
        entry = actions.get(written.seq)
        if entry is not None and entry.action in BY_PEOPLE:
            continue
        is_first = entry is not None and entry.action == "run.created"
        if written.writer != written.owner and not (is_first and not written.owner):
            owner = written.owner or "nobody"
            name = "an entry" if entry is None else f"{entry.run_id} {entry.action}"
            found.append(f"{name} of {owner} by {written.writer}")
    return tuple(found)


def _call(entry: Recorded) -> tuple[object, ...]:
    return entry.action, *entry.step


def _unexplained(
    calls: Iterable[Recorded], by_run: dict[uuid.UUID, list[Recorded]]
) -> Names:
    counts = Counter(_call(entry) for entry in calls)
    found = []
    for call, count in counts.items():
        run_id = call[1]
        assert isinstance(run_id, uuid.UUID)
        entries = by_run[run_id]
        resumed = sum(e.action == "run.resumed" for e in entries)
        failed = sum((FAILURES.get(e.action), *e.step) == call for e in entries)
        if count > 1 + resumed + failed:
            found.append(_words(call))
    return tuple(found)


def _unknown(entries: Iterable[Recorded]) -> int:
    """Count the calls that were announced and whose end is not on record."""
    open_calls: Counter[tuple[object, ...]] = Counter()
    for entry in entries:
        place = (*entry.step, entry.data.get("attempt"))
        if entry.action in CALLS:
            open_calls[place] += 1
        elif entry.action in CALL_ENDS:
            open_calls[place] -= 1
    return sum(count for count in open_calls.values() if count > 0)


def _money(history: History) -> list[str]:
    found = []
    if history.reservations or history.reserved_micros:
        found.append(
            f"{history.reservations} reservations left, {history.reserved_micros} "
            "micro-dollars set aside"
        )
    recorded = sum(row.cost_micros for row in history.runs)
    if history.spent_micros != recorded:
        found.append(f"{history.spent_micros} spent, {recorded} recorded")
    return found


def _named(ids: Iterable[uuid.UUID]) -> Names:
    return tuple(str(run_id) for run_id in ids)
