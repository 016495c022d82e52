"""The checker sees every defect it is there for, in histories that are made up."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from tests.faults.checker import check
from tests.faults.history import Accepted, History, Recorded, RunRow, Written

RUN, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)
WEB, LATER = "web-1", "web-2"


Event = tuple[str, dict[str, object]]


def entries(*told: Event, run_id: uuid.UUID = RUN) -> History:
    """Return a chain of these entries, all written by the run's owner."""
    chain = tuple(
        Recorded(seq, run_id, action, data)
        for seq, (action, data) in enumerate(told, start=1)
    )
    written = tuple(Written(entry.seq, WEB, WEB) for entry in chain)
    return History(entries=chain, written=written)


def call(step: int, attempt: int = 1) -> dict[str, object]:
    return {"round": 0, "step": step, "attempt": attempt}


CREATED: Event = ("run.created", {})
DONE: Event = ("run.completed", {})
RESUMED: Event = ("run.resumed", {"unknown_calls": 1})
FIRST = (("step.started", call(0)), ("step.completed", call(0)))
SECOND = (("step.started", call(1)), ("step.completed", call(1)))
SOUND = replace(
    entries(CREATED, *FIRST, *SECOND, DONE),
    accepted=(Accepted(RUN, is_answered=True),),
    keyed_jobs=frozenset({"job-1"}),
    runs=(RunRow(RUN, "completed", "job-1", cost_micros=7),),
    provider_calls=2,
    spent_micros=7,
)


def told(*events: Event, state: str = "completed") -> History:
    """Return the sound history with other entries and another end."""
    chain = entries(*events)
    row = replace(SOUND.runs[0], state=state)
    accepted = (Accepted(RUN, is_answered=state == "completed"),)
    calls = sum(action == "step.started" for action, _ in events)
    return replace(
        SOUND,
        entries=chain.entries,
        written=chain.written,
        runs=(row,),
        accepted=accepted,
        provider_calls=calls,
    )


def test_sound_history_has_no_defect() -> None:
    assert check(SOUND).defects == []


def test_run_that_goes_on_elsewhere_is_sound() -> None:
    again = ("step.started", call(1, 2)), ("step.completed", call(1, 2))
    history = told(CREATED, *FIRST, SECOND[0], RESUMED, *again, DONE)
    verdict = check(history)
    assert verdict.defects == []
    assert (verdict.unknown_calls, verdict.extra_calls, verdict.codes) == (1, 1, {})


def test_call_that_failed_on_record_explains_another() -> None:
    failed = ("step.attempt_failed", call(0))
    assert check(told(CREATED, FIRST[0], failed, *FIRST, DONE)).defects == []


DEFECTS = {
    "lost: a client was told, no row": replace(
        SOUND, accepted=(*SOUND.accepted, Accepted(OTHER))
    ),
    "lost: a row without an entry": replace(
        SOUND, runs=(*SOUND.runs, RunRow(OTHER, "running"))
    ),
    "stuck": told(CREATED, *FIRST, state="running"),
    "endless: no last entry": told(CREATED, *FIRST),
    "endless: two last entries": told(CREATED, *FIRST, DONE, DONE),
    "endless: another end than the row's": told(CREATED, *FIRST, DONE, state="failed"),
    "doubled steps": told(CREATED, *FIRST, FIRST[1], DONE),
    "rerun steps": told(CREATED, *FIRST, ("run.resumed", {}), FIRST[0], DONE),
    "doubled runs": replace(
        SOUND,
        entries=(*SOUND.entries, Recorded(8, OTHER, "run.created")),
        runs=(*SOUND.runs, RunRow(OTHER, "completed", "job-1")),
    ),
    "unanswered": replace(told(CREATED, state="cancelled"), accepted=SOUND.accepted),
    "stale writes": replace(
        SOUND, written=(*SOUND.written[:-1], Written(6, WEB, LATER))
    ),
    "stale writes: after it was given back": replace(
        SOUND, written=(*SOUND.written[:-1], Written(6, WEB, ""))
    ),
    "unjust ends: of something else": replace(
        told(CREATED, ("run.failed", {}), state="failed"),
        runs=(RunRow(RUN, "failed", error_code="conflict", deaths=3),),
    ),
    "unjust ends: too early": replace(
        told(CREATED, ("run.failed", {}), state="failed"),
        runs=(RunRow(RUN, "failed", error_code="owner_lost", deaths=2),),
    ),
    "unexplained calls": told(CREATED, FIRST[0], *FIRST, DONE),
    "unexplained calls: more than failed": told(
        CREATED, FIRST[0], ("step.attempt_failed", call(0)), FIRST[0], *FIRST, DONE
    ),
    "calls that nobody announced": replace(SOUND, provider_calls=3),
    "money: set aside for ever": replace(SOUND, reservations=1, reserved_micros=5),
    "money: spent twice": replace(SOUND, spent_micros=14),
    "ledger": replace(SOUND, ledger="1 of 1 chains do not hold"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_seen(name: str) -> None:
    found = check(DEFECTS[name]).defects
    assert any(sentence.startswith(name.split(":")[0]) for sentence in found), found


def test_run_that_its_client_left_may_be_followed_by_another() -> None:
    left = told(CREATED, ("run.cancelled", {"reason": "client_closed"}))
    history = replace(
        left,
        runs=(
            replace(left.runs[0], state="cancelled", cost_micros=0),
            RunRow(OTHER, "completed", "job-1", cost_micros=7),
        ),
        accepted=(Accepted(OTHER, is_answered=True),),
        entries=(
            *left.entries,
            Recorded(8, OTHER, "run.created"),
            Recorded(9, OTHER, "run.completed"),
        ),
    )
    assert check(history).defects == []
