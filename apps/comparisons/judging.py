"""Asks a worker which answer is better, in both orders, and notes what it said."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from secrets import token_hex

from django.db import IntegrityError, transaction

from apps.accounts.principal import Principal
from apps.audit.services import entries_append
from apps.audit.types import SERVICE, Batch, EntryDraft
from apps.budgets.rate_limits import Admission
from apps.comparisons.judging_prompt import (
    judge_params,
    judge_prompt,
    judge_reply_read,
)
from apps.comparisons.models import (
    Comparison,
    ComparisonJudgement,
    JudgementState,
)
from apps.comparisons.requests import all_equal, key_of_record
from apps.comparisons.selectors import comparison_view, judge_list
from apps.core.data_classes import data_class_read, highest
from apps.core.errors import Conflict, InvalidInput
from apps.engine.events import RunCompleted
from apps.engine.messages import question_of
from apps.runs.admission import ordered_by
from apps.runs.models import Run, Source
from apps.runs.selectors import access_run, run_record, run_view
from apps.runs.services import run_cancel, run_start_blocking
from apps.runs.types import RunOrder, RunRecord, RunRestrictions

MARK_BYTES = 8
STOPPED_BY_POLICY = frozenset({"policy_denied", "approval_refused", "approval_expired"})
"""Errors of runs that a policy has stopped."""
AT_WORK = "a judge is at work on this comparison; wait for its judgement"
VOTE_FIRST = "vote first: a judgement must not influence a blind vote"
DIFFERENT_PROMPTS = (
    "these answers are to different prompts, so a judge cannot compare them"
)
NO_JUDGE = (
    "this team's pools have no worker that could judge: each one has given an answer "
    "here, or is disabled"
)
Admit = Callable[[str, str], Admission]
"""Admits a run by its model and prompt. Raises: NotAllowed, RateLimited."""


@dataclass(frozen=True, slots=True)
class JudgeReply:
    """What the judge said in one order."""

    run: Run
    position: int | None
    """The better answer. None: it called them equal, or gave no readable reply."""
    reason: str
    """Empty: it gave none, or it has been erased."""
    is_readable: bool

    @property
    def is_stopped_by_policy(self) -> bool:
        """Return whether a policy kept the judge from answering."""
        return self.run.error_code in STOPPED_BY_POLICY


def judgement_ask(
    *,
    comparison: Comparison,
    principal: Principal,
    admit: Admit,
    model: str = "",
    source: str = Source.PLAYGROUND,
) -> ComparisonJudgement:
    """Ask a worker to judge the answers, once in each order; both calls are runs.

    The judge reads the whole request: of a follow-up, the conversation before it too.

    `model`: asks the judge directly. Empty: the first worker that can judge. Blocks;
    not for the event loop. Raises: InvalidInput; Conflict if fewer than two answers can
    be judged, their requests differ, a judge is at work, or the comparison is blind and
    the principal has not voted; as `run_start_blocking`.
    """
    worker = _judge(comparison, model)
    if not comparison_view(comparison, principal.actor).is_revealed:
        raise Conflict(VOTE_FIRST)
    if comparison.judgements.filter(state=JudgementState.RUNNING).exists():
        raise Conflict(AT_WORK)
    records = {
        each.position: run_record(comparison.team_id, each.run_id)
        for each in comparison.answers.all()
    }
    texts = {place: _text(record) for place, record in records.items()}
    places = [place for place, text in texts.items() if text]
    if len(places) < 2:
        raise Conflict("a judge needs two answers that are complete and not erased")
    judged = [records[place] for place in places]
    if not all_equal([key_of_record(each) for each in judged]):
        raise Conflict(DIFFERENT_PROMPTS)
    request = question_of(judged[0].messages) or judged[0].prompt
    restrictions = _restrictions(list(records.values()))
    started: list[uuid.UUID] = []
    try:
        for order in (places, places[::-1]):
            prompt = judge_prompt(
                request, [texts[i] for i in order], mark=token_hex(MARK_BYTES)
            )
            asked = RunOrder(
                **ordered_by(principal, admit(worker, prompt)),
                prompt=prompt,
                model=worker,
                source=str(source),
                params=judge_params(len(order)),
                is_watched=False,
                restrictions=restrictions,
            )
            started.append(run_start_blocking(asked))
        return _recorded(comparison, principal, worker, started, places)
    except Exception:
        _stop_all(comparison, principal, started)
        raise


def judgement_settle(comparison: Comparison) -> None:
    """Note what judges said whose calls have ended. Does nothing while they go on."""
    running = comparison.judgements.filter(state=JudgementState.RUNNING)
    for judgement in running:
        replies = judge_replies(comparison.team_id, judgement)
        if all(each.run.is_over for each in replies):
            _settle(comparison, judgement, replies)


def judge_replies(
    team_id: uuid.UUID, judgement: ComparisonJudgement
) -> tuple[JudgeReply, JudgeReply]:
    """Return what the judge said from left to right, and from right to left."""
    places = judgement.positions
    return (
        _reply(team_id, judgement.run_id, places),
        _reply(team_id, judgement.reversed_run_id, places[::-1]),
    )


def _judge(comparison: Comparison, model: str) -> str:
    judges = [each.model for each in judge_list(comparison)]
    if not judges:
        raise InvalidInput(NO_JUDGE, param="judge")
    if model and model not in judges:
        raise InvalidInput(
            f"{model!r} cannot judge here: name a single worker that gave none of the "
            "answers",
            param="judge",
        )
    return model or judges[0]


def _text(record: RunRecord) -> str:
    end = record.summary and record.summary.end
    return end.said if isinstance(end, RunCompleted) and record.prompt else ""


def _restrictions(records: Sequence[RunRecord]) -> RunRestrictions:
    """Return restrictions with the highest data class that an answer's run has."""
    stated = [
        data_class_read(name, param="data_class")
        for record in records
        for name in record.stated_classes
    ]
    return RunRestrictions(
        data_class=highest(stated) if stated else None, approval="never"
    )


def _recorded(
    comparison: Comparison,
    principal: Principal,
    worker: str,
    run_ids: Sequence[uuid.UUID],
    places: list[int],
) -> ComparisonJudgement:
    actor = principal.actor
    first, second = run_ids
    try:
        with transaction.atomic():
            judgement = ComparisonJudgement.objects.create(
                comparison=comparison,
                worker=worker,
                actor_type=actor.type,
                actor_id=actor.id,
                actor_name=actor.display[:200],
                run_id=first,
                reversed_run_id=second,
                positions=places,
                state=JudgementState.RUNNING,
            )
            facts = {"judge": worker, "run_ids": [str(first), str(second)]}
            draft = EntryDraft(
                *("comparison.judge_asked", "comparison", comparison.id, actor, facts)
            )
            entries_append(batch=Batch(comparison.team_id, (draft,)))
    except IntegrityError as exc:  # another request was a moment earlier
        raise Conflict(AT_WORK) from exc
    return judgement


def _stop_all(
    comparison: Comparison, principal: Principal, run_ids: Sequence[uuid.UUID]
) -> None:
    for run_id in run_ids:
        run_cancel(
            run_id=run_id,
            team_id=comparison.team_id,
            actor=principal.actor,
            reason="the judge could not be asked in both orders",
        )


def _reply(team_id: uuid.UUID, run_id: uuid.UUID, places: Sequence[int]) -> JudgeReply:
    run = access_run(team_id=team_id, run_id=run_id)
    view = run_view(run)
    if not isinstance(view.end, RunCompleted):
        return JudgeReply(run, None, "", is_readable=False)
    try:
        position, reason = judge_reply_read(view.answer or "", places)
    except ValueError:
        return JudgeReply(run, None, "", is_readable=False)
    return JudgeReply(run, position, reason, is_readable=True)


@transaction.atomic
def _settle(
    comparison: Comparison,
    judgement: ComparisonJudgement,
    replies: tuple[JudgeReply, JudgeReply],
) -> None:
    state, position = _outcome(replies)
    changed = ComparisonJudgement.objects.filter(
        id=judgement.id, state=JudgementState.RUNNING
    ).update(state=state, position=position)
    if not changed:  # another request noted it
        return
    runs = {each.position: str(each.run_id) for each in comparison.answers.all()}
    facts = {
        "judge": judgement.worker,
        "outcome": state.value,
        "preferred_run_id": None if position is None else runs[position],
    }
    draft = EntryDraft("comparison.judged", "comparison", comparison.id, SERVICE, facts)
    entries_append(batch=Batch(comparison.team_id, (draft,)))


def _outcome(
    replies: tuple[JudgeReply, JudgeReply],
) -> tuple[JudgementState, int | None]:
    first, second = replies
    if not (first.is_readable and second.is_readable):
        return JudgementState.FAILED, None
    if first.position != second.position:
        return JudgementState.SPLIT, None
    if first.position is None:
        return JudgementState.TIE, None
    return JudgementState.BETTER, first.position
