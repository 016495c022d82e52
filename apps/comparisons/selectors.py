"""Reads of comparisons for a given team, and what of them a principal may see."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet

from apps.audit.selectors import entry_list
from apps.audit.types import Actor
from apps.comparisons.models import (
    ComparedAnswer,
    Comparison,
    ComparisonJudgement,
    ComparisonVote,
)
from apps.comparisons.requests import candidate_keys
from apps.comparisons.types import AnswerRun, CandidateVotes, ComparisonView
from apps.core.errors import NotFound
from apps.runs.models import Run
from apps.runs.planning.direct_choices import DirectChoice, direct_choices
from apps.runs.planning.model_resolver import direct_worker
from apps.runs.selectors import run_view

COUNTED_COMPARISONS = 5_000
"""The newest ones, whose votes are counted."""
LISTED_OF_RUN = 20
"""Comparisons of one run, the newest ones."""


def comparison_list(team_id: uuid.UUID) -> QuerySet[Comparison]:
    """Return the comparisons of a team, the newest first."""
    rows = Comparison.objects.for_team(team_id)
    return rows.prefetch_related("answers", "votes", "judgements")


def access_comparison(*, team_id: uuid.UUID, comparison_id: uuid.UUID) -> Comparison:
    """Return a comparison of the team. Raises: NotFound for any other one."""
    found = comparison_list(team_id).filter(id=comparison_id).first()
    if found is None:
        raise NotFound(f"there is no comparison {str(comparison_id)!r} in this team")
    return found


def comparison_views(
    comparisons: Sequence[Comparison], actor: Actor
) -> list[ComparisonView]:
    """Return comparisons of one team as somebody may see them."""
    if not comparisons:
        return []
    run_ids = {a.run_id for each in comparisons for a in each.answers.all()}
    runs = Run.objects.for_team(comparisons[0].team_id).in_bulk(run_ids)
    return [_view(each, actor, runs) for each in comparisons]


def comparison_view(comparison: Comparison, actor: Actor) -> ComparisonView:
    """Return a comparison as somebody may see it, read anew."""
    fresh = access_comparison(team_id=comparison.team_id, comparison_id=comparison.id)
    (view,) = comparison_views([fresh], actor)
    return view


def comparisons_of_run(team_id: uuid.UUID, run_id: uuid.UUID) -> list[Comparison]:
    """Return the newest comparisons that a run is an answer of, with their answers."""
    rows = _holding(team_id, run_id).prefetch_related("answers")
    return list(rows[:LISTED_OF_RUN])


def comparison_of_runs(
    team_id: uuid.UUID, run_ids: Collection[uuid.UUID]
) -> Comparison | None:
    """Return the newest comparison of these runs and no other, if there is one."""
    wanted = set(run_ids)
    counted = _holding(team_id, next(iter(wanted))).annotate(
        answer_count=Count("answers"),
        wanted_count=Count("answers", filter=Q(answers__run_id__in=wanted)),
    )
    count = len(wanted)
    return counted.filter(answer_count=count, wanted_count=count).first()


def _holding(team_id: uuid.UUID, run_id: uuid.UUID) -> QuerySet[Comparison]:
    held = ComparedAnswer.objects.filter(run_id=run_id)
    rows = Comparison.objects.for_team(team_id)
    return rows.filter(id__in=held.values("comparison_id"))


def judge_list(comparison: Comparison) -> list[DirectChoice]:
    """Return the workers that can judge: all but those that wrote an answer."""
    found = direct_choices(comparison.team_id)
    authors = set[str]()
    answers = list(comparison.answers.all())
    runs = Run.objects.for_team(comparison.team_id)
    for run in runs.filter(id__in=[each.run_id for each in answers]):
        final = run_view(run).final_step
        authors.add(final.worker if final else "")
    authors |= {direct_worker(each.model) for each in answers}
    return [each for each in found if each.name not in authors]


def vote_reason(team_id: uuid.UUID, vote: ComparisonVote) -> str | None:
    """Return the reason of a vote; empty: it has none. None: it has been erased."""
    entries = entry_list(team_id, after_seq=vote.entry_seq - 1, limit=1)
    return entries[0].bodies.get("reason", "") if entries else ""


def candidate_votes(team_id: uuid.UUID, actor: Actor) -> list[CandidateVotes]:
    """Return the votes on each candidate, the one with the most votes first.

    Of the newest `COUNTED_COMPARISONS` that ask the same of all. Blind ones in which
    `actor` has not voted are left out: the votes would tell who wrote what. A tie, or a
    vote that none is good, prefers nobody. Candidates that stand more than once in a
    comparison are left out there: a vote between them says nothing of them. Candidates
    are told apart by their ids, and have the name that they were compared by last.
    """
    newest = Comparison.objects.for_team(team_id).values("id")[:COUNTED_COMPARISONS]
    own = ComparisonVote.objects.filter(
        comparison=OuterRef("comparison"), actor_type=actor.type, actor_id=actor.id
    )
    twins = ComparedAnswer.objects.filter(
        comparison=OuterRef("comparison"), candidate=OuterRef("candidate")
    ).exclude(id=OuterRef("id"))
    votes = "comparison__votes"
    rows = (
        ComparedAnswer.objects.filter(
            Q(comparison__is_blind=False) | Exists(own),
            ~Exists(twins),
            comparison__in=newest,
            comparison__has_same_prompt=True,
        )
        .order_by()
        .values("candidate")
        .annotate(
            newest=Max("id"),
            count=Count(votes),
            preferred=Count(votes, filter=Q(comparison__votes__position=F("position"))),
            blind=Count(votes, filter=Q(comparison__votes__is_blind=True)),
        )
        .filter(count__gt=0)
        .values_list("candidate", "newest", "count", "preferred", "blind")
    )
    newest_answers = ComparedAnswer.objects.filter(id__in=[row[1] for row in rows])
    names = dict(newest_answers.values_list("id", "model"))
    present = candidate_keys(team_id, [names[row[1]] for row in rows])
    found = [
        (
            candidate,
            CandidateVotes(
                names[answer], count, preferred, blind, is_former=candidate != now
            ),
        )
        for (candidate, answer, count, preferred, blind), now in zip(
            rows, present, strict=True
        )
    ]
    found.sort(key=lambda each: (-each[1].votes, each[1].model, each[0]))
    return [votes_of for _, votes_of in found]


def _view(
    comparison: Comparison, actor: Actor, runs: dict[uuid.UUID, Run]
) -> ComparisonView:
    votes = list(comparison.votes.all())
    whose = (actor.type, actor.id)
    own = next((v for v in votes if (v.actor_type, v.actor_id) == whose), None)
    is_revealed = own is not None or not comparison.is_blind
    judgements: list[ComparisonJudgement] = list(comparison.judgements.all())
    return ComparisonView(
        comparison,
        tuple(
            AnswerRun(each, runs[each.run_id])
            for each in comparison.answers.all()
            if each.run_id in runs
        ),
        is_revealed,
        own,
        tuple(votes) if is_revealed else (),
        judgements[-1] if judgements and is_revealed else None,
    )
