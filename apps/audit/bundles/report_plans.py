"""The plans of an exported run, ready to be drawn in its report.

Reads the facts of entries as `run-events.schema.json` describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apps.audit.bundles.contents import BundleEntry
from apps.core.plan_layout import Edge, Layout, Node, lay_out

PLAN_ACCEPTED = "plan.accepted"
STATES = {
    "step.completed": "completed",
    "step.reused": "reused",
    "step.failed": "failed",
    "step.skipped": "skipped",
}
NOT_ENDED = "not ended"
NAME_CHARS = 18
"""Letters of a worker's name that fit into a box."""


@dataclass(frozen=True, slots=True)
class StepBox:
    """A step of a plan, and its box."""

    number: int
    """As people read it, from 1."""
    worker: str
    label: str
    """The worker's name, cut to the width of the box."""
    subtask: str
    """Empty if it has been erased."""
    state: str
    reads: tuple[int, ...]
    """Numbers of the steps whose answers it reads."""
    node: Node


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """One plan of the run."""

    seq: int
    """Of the entry that has it."""
    round: int
    """As people count, from 1."""
    planner: str
    layout: Layout
    steps: tuple[StepBox, ...]

    @property
    def edges(self) -> tuple[Edge, ...]:
        """Return the lines between the boxes."""
        return self.layout.edges


def report_plans(
    entries: Iterable[BundleEntry], *, not_ended: str = NOT_ENDED
) -> list[ReportPlan]:
    """Return the plans in force of a run, in order, with how their steps ended.

    `not_ended`: the words for a step of which no entry says that.
    A plan that does not have the recorded form of one is left out; its entry is in the
    report all the same.
    """
    every = list(entries)
    documents = [(entry, entry.document) for entry in every]
    states = {
        (document["data"].get("round"), document["data"].get("step")): state
        for _, document in documents
        if (state := STATES.get(document["action"]))
    }
    return [
        _drawing(entry, document["data"], states, not_ended)
        for entry, document in documents
        if document["action"] == PLAN_ACCEPTED and _is_plan(document["data"])
    ]


def _is_plan(facts: dict[str, Any]) -> bool:
    workers, access = facts.get("workers"), facts.get("access")
    if not isinstance(workers, list) or not isinstance(access, list):
        return False
    return (
        isinstance(facts.get("round"), int)
        and len(workers) == len(access) > 0
        and all(isinstance(worker, str) for worker in workers)
        and all(_reads_earlier(index, reads) for index, reads in enumerate(access))
    )


def _reads_earlier(index: int, reads: Any) -> bool:
    return isinstance(reads, list) and all(
        type(other) is int and 0 <= other < index for other in reads
    )


def _drawing(
    entry: BundleEntry,
    facts: dict[str, Any],
    states: dict[tuple[Any, Any], str],
    not_ended: str,
) -> ReportPlan:
    access: list[list[int]] = facts["access"]
    layout = lay_out(access)
    subtasks = _subtasks(entry, len(access))
    steps = tuple(
        StepBox(
            index + 1,
            worker,
            worker if len(worker) <= NAME_CHARS else f"{worker[: NAME_CHARS - 1]}…",
            subtasks[index],
            states.get((facts["round"], index), not_ended),
            tuple(other + 1 for other in access[index]),
            layout.nodes[index],
        )
        for index, worker in enumerate(facts["workers"])
    )
    planner = str(facts.get("planner", ""))
    return ReportPlan(entry.seq, facts["round"] + 1, planner, layout, steps)


def _subtasks(entry: BundleEntry, count: int) -> Sequence[str]:
    """Return the text of each step; empty ones where they are erased."""
    texts = {text.name: text.text for text in entry.texts}
    found = orjson.loads(texts.get("subtasks") or "[]")
    return [str(each) for each in found] if len(found) == count else [""] * count
