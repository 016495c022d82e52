"""What a run's row notes at its end: first token, sizes, faults and loops.

Follows from the events alone, so that it can be derived anew. Faults of calls are those
of `docs/faults.md`; that a whole run failed is in `error_code` and not repeated here.
Pure: no ORM, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

from apps.runs.records.round_view import (
    CallView,
    RoundView,
    StepView,
    text_digest,
)
from apps.runs.records.run_view import RunView

PLAN, STEP, LOOP = "plan", "step", "loop"
"""Stages of a finding: a call to the conductor, a call to a worker, repeated work."""
INTERRUPTED = "interrupted"
"""The fault of a call whose process ended before the answer was on record."""
RETRY, SUBSTITUTE, REPLAN = "retry", "substitute", "replan"
FALLBACK, WITHOUT, NOTHING = "fallback", "without", "none"
"""What made up for a fault. `without`: the run answered without what was asked for."""
RESCUES = (RETRY, SUBSTITUTE, REPLAN, FALLBACK, WITHOUT, NOTHING)
SUBTASK, ANSWER, SAME_PLAN = "repeated_subtask", "repeated_answer", "unchanged_plan"
LOOPS = (SUBTASK, ANSWER, SAME_PLAN)
CHARACTERS_PER_TOKEN = 4
"""Of ordinary English text; an estimate."""
MOST_FINDINGS = 50
"""Of one run; a run has hundreds of calls at most, and a list of these says enough."""


class RunFinding(TypedDict):
    """One thing that went wrong in a run."""

    stage: str
    fault: str
    worker: str
    """Empty for the conductor and for whole plans."""
    cost: int
    """What was spent on it in vain, in micro-dollars: the known part."""
    rescue: str


class EndFacts(TypedDict):
    """The columns of a run that has ended."""

    first_token_ms: int | None
    """From its beginning to the first token of its answer. None: not known."""
    asked_tokens: int | None
    """The length of its prompt, estimated. None: not known, or erased by then."""
    answer_tokens: int | None
    """Output tokens of the call that wrote the answer. None: there is none."""
    findings: list[RunFinding] | None
    """None: the run has not ended."""


def end_facts(view: RunView) -> EndFacts:
    """Return what is noted of a run; of one that goes on, nothing."""
    if view.end is None:
        return EndFacts(
            first_token_ms=None, asked_tokens=None, answer_tokens=None, findings=None
        )
    facts = EndFacts(
        first_token_ms=None,
        asked_tokens=-(-view.prompt_characters // CHARACTERS_PER_TOKEN) or None,
        answer_tokens=None,
        findings=findings(view),
    )
    round_ = _answering_round(view)
    call = None if round_ is None else view.rounds[round_].steps[-1].answered_by
    if round_ is not None and call is not None:
        facts["first_token_ms"] = _first_token_ms(view, call, round_)
        facts["answer_tokens"] = call.usage.completion_tokens
    return facts


def findings(view: RunView) -> list[RunFinding]:
    """Return what went wrong in a run, in the order of its rounds."""
    found: list[RunFinding] = []
    for number, round_ in enumerate(view.rounds):
        found += _plan_faults(round_)
        is_replanned = any(later.steps for later in view.rounds[number + 1 :])
        for step in round_.steps:
            found += _step_faults(step, view, is_replanned=is_replanned)
        found += _loops(round_, view.rounds[:number])
    return found[:MOST_FINDINGS]


def _answering_round(view: RunView) -> int | None:
    """Return the place of the round whose last step wrote the answer."""
    if view.state != "completed":
        return None
    for number in reversed(range(len(view.rounds))):
        if view.rounds[number].is_answered:
            return number
    return None


def _first_token_ms(view: RunView, call: CallView, round_: int) -> int | None:
    """Return it, counted back from the end of the run.

    After the answer came at most the question to the conductor whether it may stay.
    """
    later = view.rounds[round_ + 1 :]
    if call.first_token_ms is None or any(each.steps for each in later):
        return None
    asked_ms = sum(asked.latency_ms or 0 for each in later for asked in each.calls)
    after_ms = (call.latency_ms or 0) - call.first_token_ms + asked_ms
    return max((view.latency_ms or 0) - after_ms, call.first_token_ms)


# --- faults --------------------------------------------------------------------------


def _plan_faults(round_: RoundView) -> Iterator[RunFinding]:
    """Yield the faults of calls for the plan, and what became of the round."""
    for number, call in enumerate(round_.calls):
        fault = _fault(call)
        if not fault:
            continue
        is_asked_again = number + 1 < len(round_.calls)
        if round_.is_fallback:
            rescue = FALLBACK
        elif round_.state == "kept" or (round_.steps and is_asked_again):
            rescue = RETRY
        else:
            rescue = NOTHING
        yield _finding(PLAN, fault, call, rescue)
    for call in round_.vector_calls:
        if fault := _fault(call):
            yield _finding(PLAN, fault, call, WITHOUT)


def _step_faults(
    step: StepView, view: RunView, *, is_replanned: bool
) -> Iterator[RunFinding]:
    for call in step.calls:
        fault = _fault(call)
        if fault:
            yield _finding(STEP, fault, call, _rescue(step, call, view, is_replanned))


def _rescue(step: StepView, call: CallView, view: RunView, is_replanned: bool) -> str:
    if step.state == "completed":
        return RETRY if step.worker == call.worker else SUBSTITUTE
    if is_replanned:
        return REPLAN
    return WITHOUT if view.state == "completed" else NOTHING


def _fault(call: CallView) -> str:
    """Return why a call was in vain; empty if it was not, or if we closed it."""
    if call.state == "unknown":
        return INTERRUPTED
    return "" if call.state == "stopped" else call.fault


def _finding(stage: str, fault: str, call: CallView, rescue: str) -> RunFinding:
    return RunFinding(
        stage=stage,
        fault=fault,
        worker=call.worker,
        cost=call.cost.micros,
        rescue=rescue,
    )


# --- loops ---------------------------------------------------------------------------


def _loops(round_: RoundView, before: Sequence[RoundView]) -> Iterator[RunFinding]:
    """Yield work of a round that an earlier step of the run had done already."""
    if round_.steps and any(_plan_of(round_) == _plan_of(old) for old in before):
        cost = sum(step.cost.micros for step in round_.steps)
        yield _loop(SAME_PLAN, "", cost)
        return
    earlier = [step for old in before for step in old.steps]
    for step in round_.steps:
        known = [*earlier, *round_.steps[: step.index]]
        if any(_repeats_subtask(step, old) for old in known):
            yield _loop(SUBTASK, step.worker, step.cost.micros)
        elif any(_repeats_answer(step, old) for old in known):
            yield _loop(ANSWER, step.worker, step.cost.micros)


def _plan_of(round_: RoundView) -> tuple[object, ...]:
    return tuple(
        (step.planned_worker, step.access, text_digest(step.subtask) or step.key)
        for step in round_.steps
    )


def _repeats_subtask(step: StepView, old: StepView) -> bool:
    """Say whether a step asks for what an earlier one had answered.

    Several workers with one subtask in one plan are a comparison, not a repetition.
    """
    if old.state != "completed" or not step.calls:
        return False
    is_same = step.round != old.round or step.worker == old.worker
    digest = text_digest(step.subtask) if is_same else b""
    return bool(digest) and digest == text_digest(old.subtask)


def _repeats_answer(step: StepView, old: StepView) -> bool:
    """Say whether a step answered as an earlier one had, so that nothing was gained.

    Equal answers of different workers in one plan confirm each other.
    """
    mine, other = step.answered_by, old.answered_by
    if mine is None or other is None or not step.calls:
        return False
    is_own = step.worker == old.worker and old.index in step.access
    is_later = step.round != old.round
    return (is_later or is_own) and bool(
        mine.answer_digest and mine.answer_digest == other.answer_digest
    )


def _loop(fault: str, worker: str, cost: int) -> RunFinding:
    return RunFinding(stage=LOOP, fault=fault, worker=worker, cost=cost, rescue=NOTHING)
