"""Starts comparisons, takes votes, asks judges. Each change has its ledger entry."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.db import transaction

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.comparisons.judging import judgement_ask, judgement_settle
from apps.comparisons.models import (
    FEWEST_ANSWERS,
    MOST_ANSWERS,
    REASON_LENGTH,
    ComparedAnswer,
    Comparison,
    ComparisonVote,
    VoteChoice,
)
from apps.comparisons.requests import (
    all_equal,
    candidate_keys,
    key_of_record,
    request_key,
)
from apps.comparisons.selectors import comparison_of_runs
from apps.core.errors import ConductorError, Conflict, InvalidFields, InvalidInput
from apps.core.ids import new_id
from apps.core.validation import clean_lines
from apps.runs.models import Run
from apps.runs.selectors import access_run, run_record
from apps.runs.services import run_cancel, run_start_blocking
from apps.runs.types import RunOrder

__all__ = [
    "comparison_cancel",
    "comparison_create",
    "judgement_ask",
    "judgement_settle",
    "vote_give",
]
SEEN = "an answer that has been seen cannot be compared blindly"
_chance = random.SystemRandom()


def comparison_create(
    *,
    team_id: uuid.UUID,
    actor: Actor,
    orders: Sequence[RunOrder] = (),
    kept: Sequence[Run] = (),
    is_blind: bool = False,
) -> Comparison:
    """Start a run for each order, and compare their answers and those of kept runs.

    Without orders, a comparison of the same runs that is there is returned: nothing
    is left to start.

    `orders`: of admitted runs, one for each candidate. `kept`: recorded runs, whose
    columns come first. The columns of a blind comparison have an order by chance. If
    one run cannot start, or the comparison cannot be stored, the runs that started are
    cancelled, and there is no comparison.

    Blocks; not for the event loop. Raises: InvalidInput; as `run_start_blocking`.
    """
    _check(team_id, orders, kept, is_blind=is_blind)
    asked = [request_key(order.prompt, order.messages) for order in orders]
    asked += [key_of_record(run_record(team_id, run.id)) for run in kept]
    started = _started(orders, actor)
    columns = [(run.id, run.model) for run in kept]
    columns += [(run_id, order.model) for run_id, order in started]
    if is_blind:
        _chance.shuffle(columns)
    try:
        with transaction.atomic():
            if not orders and (found := _existing(team_id, kept)):
                return found
            facts = {"is_blind": is_blind, "has_same_prompt": all_equal(asked)}
            return _stored(team_id, actor, columns, facts)
    except Exception:
        reason = "the comparison could not be stored"
        _stop([run_id for run_id, _ in started], team_id, actor, reason)
        raise


def _stored(
    team_id: uuid.UUID,
    actor: Actor,
    columns: Sequence[tuple[uuid.UUID, str]],
    kind: Mapping[str, bool],
) -> Comparison:
    """Store a comparison with its columns and its entry; in a transaction."""
    comparison = Comparison.objects.create(
        team_id=team_id,
        actor_type=actor.type,
        actor_id=actor.id,
        actor_name=actor.display[:200],
        **kind,
    )
    keys = candidate_keys(team_id, [model for _, model in columns])
    ComparedAnswer.objects.bulk_create(
        ComparedAnswer(
            comparison=comparison, position=i, run_id=run_id, model=model, candidate=key
        )
        for i, ((run_id, model), key) in enumerate(zip(columns, keys, strict=True))
    )
    facts = {
        "run_ids": [str(run_id) for run_id, _ in columns],
        "models": [model for _, model in columns],
        "is_blind": comparison.is_blind,
    }
    draft = EntryDraft("comparison.created", "comparison", comparison.id, actor, facts)
    entries_append(batch=Batch(team_id, (draft,)))
    return comparison


def _existing(team_id: uuid.UUID, kept: Sequence[Run]) -> Comparison | None:
    """Return the comparison of kept runs, if there is one; in a transaction."""
    ids = sorted(run.id for run in kept)
    # The row is locked: two requests at once would make two comparisons.
    Run.objects.for_team(team_id).select_for_update().get(id=ids[0])
    return comparison_of_runs(team_id, ids)


def comparison_cancel(*, comparison: Comparison, actor: Actor) -> int:
    """Stop the runs of a comparison that are in progress; return how many."""
    reason = f"the comparison was stopped by {actor.display}"
    ids = [each.run_id for each in comparison.answers.all()]
    return sum(_stop(ids, comparison.team_id, actor, reason))


@transaction.atomic
def vote_give(
    *,
    comparison: Comparison,
    actor: Actor,
    choice: Any,
    letter: Any = None,
    reason: Any = "",
) -> ComparisonVote:
    """Record what somebody decided, in place of what they decided before.

    `choice`: a value of `VoteChoice`. `letter`: the column of the better answer, with
    `better` alone. The reason is erased with the texts of the first run.

    Raises: InvalidFields; Conflict while an answer is in progress.
    """
    answers = list(comparison.answers.all())
    position, text = _vote_read(answers, choice, letter, reason)
    runs = [
        access_run(team_id=comparison.team_id, run_id=each.run_id) for each in answers
    ]
    if not all(run.is_over for run in runs):
        raise Conflict("an answer is in progress; vote when all have ended")
    # The row is locked: two votes of one person at once would be two first ones.
    Comparison.objects.for_team(comparison.team_id).select_for_update().get(
        id=comparison.id
    )
    before = ComparisonVote.objects.filter(
        comparison=comparison, actor_type=actor.type, actor_id=actor.id
    ).first()
    facts = {
        "comparison_id": str(comparison.id),
        **_vote_facts("", answers, choice, position),
        **_vote_facts(
            "previous_",
            answers,
            before.choice if before else None,
            before.position if before else None,
        ),
    }
    texts = {"reason": text} if text else {}
    # Its target is a run: so the reason has that run's retention and holds.
    draft = EntryDraft("comparison.voted", "run", runs[0].id, actor, facts, texts)
    (seq,) = entries_append(batch=Batch(comparison.team_id, (draft,)))
    vote, _ = ComparisonVote.objects.update_or_create(
        comparison=comparison,
        actor_type=actor.type,
        actor_id=actor.id,
        defaults={
            "actor_name": actor.display[:200],
            "choice": choice,
            "position": position,
            "entry_seq": seq,
            "is_blind": comparison.is_blind and before is None,
        },
    )
    return vote


def _check(
    team_id: uuid.UUID,
    orders: Sequence[RunOrder],
    kept: Sequence[Run],
    *,
    is_blind: bool,
) -> None:
    count = len(orders) + len(kept)
    if not FEWEST_ANSWERS <= count <= MOST_ANSWERS:
        raise InvalidInput(
            f"a comparison has {FEWEST_ANSWERS} to {MOST_ANSWERS} answers, not {count}",
            param="models",
        )
    candidates = candidate_keys(team_id, [order.model for order in orders])
    if len(set(candidates)) < len(candidates):
        raise InvalidInput("name each candidate only once", param="models")
    if len({run.id for run in kept}) < len(kept):
        raise InvalidInput("name each run only once", param="run_ids")
    if is_blind and kept:
        raise InvalidInput(SEEN, param="is_blind")


def _started(
    orders: Sequence[RunOrder], actor: Actor
) -> list[tuple[uuid.UUID, RunOrder]]:
    """Start the runs, all of them or none."""
    started: list[tuple[uuid.UUID, RunOrder]] = []
    try:
        for order in orders:
            started.append((run_start_blocking(order, new_id()), order))
    except Exception:
        reason = "another answer of the comparison could not start"
        ids = [run_id for run_id, _ in started]
        for order in orders[:1]:
            _stop(ids, order.team_id, actor, reason)
        raise
    return started


def _stop(
    run_ids: Sequence[uuid.UUID], team_id: uuid.UUID, actor: Actor, reason: str
) -> list[bool]:
    stopped = []
    for run_id in run_ids:
        with suppress(ConductorError):
            stopped.append(
                run_cancel(run_id=run_id, team_id=team_id, actor=actor, reason=reason)
            )
    return stopped


def _vote_read(
    answers: Sequence[ComparedAnswer], choice: Any, letter: Any, reason: Any
) -> tuple[int | None, str]:
    """Return the position of the better answer and the reason."""
    faults: dict[str, list[str]] = {}
    if choice not in VoteChoice.values:
        known = ", ".join(VoteChoice.values)
        faults["choice"] = [f"unknown choice {choice!r}; known are {known}"]
    places = {each.letter: each.position for each in answers}
    if choice == VoteChoice.BETTER and letter not in places:
        faults["letter"] = [f"the better answer is one of {', '.join(places)}"]
    if choice != VoteChoice.BETTER and letter:
        faults["letter"] = ["only the choice 'better' names an answer"]
    text = ""
    try:
        text = clean_lines(reason, "reason", REASON_LENGTH)
    except ValueError as exc:
        faults["reason"] = [str(exc)]
    if faults:
        raise InvalidFields(faults)
    return places.get(letter) if letter else None, text


def _vote_facts(
    prefix: str,
    answers: Sequence[ComparedAnswer],
    choice: str | None,
    position: int | None,
) -> Mapping[str, str | None]:
    runs = {each.position: str(each.run_id) for each in answers}
    return {
        f"{prefix}choice": None if choice is None else str(choice),
        f"{prefix}preferred_run_id": None if position is None else runs[position],
    }
