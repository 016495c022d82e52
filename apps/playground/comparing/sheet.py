"""A comparison as its page shows it, for one person at one moment.

What a person may not know before the vote is not in the columns at all, so no template
can show it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.audit.types import Actor
from apps.comparisons.hidden_names import NameMask, name_mask
from apps.comparisons.judging import JudgeReply, judge_replies
from apps.comparisons.models import (
    LETTERS,
    ComparisonJudgement,
    ComparisonVote,
    JudgementState,
    VoteChoice,
)
from apps.comparisons.selectors import vote_reason
from apps.comparisons.types import ComparisonView
from apps.core.errors import NotFound
from apps.governance.selectors import ratings_by
from apps.playground.comparing.step_pairs import StepPair, step_pairs
from apps.playground.comparing.task_verdicts import TaskVerdicts, task_verdicts
from apps.playground.comparing.words import (
    Named,
    agreement,
    costs_alone,
    difference,
    is_same_answer,
    listed,
)
from apps.playground.run_page import RunBody, compose
from apps.runs.models import Run
from apps.runs.planning.model_resolver import direct_worker
from apps.runs.records.run_view import RunView
from apps.runs.selectors import run_events
from apps.web.text_differences import Differences, differences

NOT_JUDGED = _("No verdict yet. Vote, or ask a judge.")
UNDECIDED: Mapping[str, str] = {
    JudgementState.TIE: _("The judge finds the answers equal."),
    JudgementState.SPLIT: _(
        "The judge decides by the order of the answers, so nothing here says which one "
        "is better."
    ),
    JudgementState.FAILED: _(
        "The judge gave no readable judgement, so nothing here says which answer is "
        "better."
    ),
}
"""What is said without votes, by what came of asking a judge."""
STOPPED_JUDGE = _(
    "A policy stopped the judge, so nothing here says which answer is better."
)
FAILED_JUDGE = _("The judge failed, so nothing here says which answer is better.")
JUDGED: Mapping[str, str] = {
    JudgementState.RUNNING: _("{judge} is reading the answers, in both orders."),
    JudgementState.BETTER: _("{judge} finds {letter} better, in both orders."),
    JudgementState.TIE: _("{judge} finds the answers equal, in both orders."),
    JudgementState.SPLIT: _(
        "{judge} decides by the order of the answers, so it says nothing of which one "
        "is better."
    ),
    JudgementState.FAILED: _("{judge} gave no judgement that could be read."),
}
"""What came of asking a judge."""
STOPPED = _("A policy stopped {judge} before it gave a judgement.")
FAILED = _("{judge} failed before it gave a judgement.")


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """What made an answer. Only of columns that are revealed."""

    run: Run
    body: RunBody

    @property
    def worker(self) -> str:
        """Return the worker that was asked directly; empty if there was a plan."""
        return direct_worker(self.run.model)

    @property
    def name(self) -> str:
        """Return the candidate as people call it."""
        return self.worker or self.run.model


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """One answer."""

    position: int
    answer: str
    """Empty: there is none, or not yet."""
    is_over: bool
    is_preferred: bool
    rating: str
    """The person's own thumb: up, down or empty."""
    opened: OpenedRun | None
    """None: hidden until the person has voted."""
    differences: Differences | None
    """From the base. None: none are shown, or it is the base."""
    is_right: bool | None = None
    """What the verifier of the suite says. None: the prompt is no known task."""

    @property
    def letter(self) -> str:
        """Return what it is called."""
        return LETTERS[self.position]

    @property
    def seq(self) -> int:
        """Return a number that grows with what the column shows."""
        if self.opened is None:
            return int(self.is_over)
        # A verdict comes when all answers have ended, which may be after its own.
        return self.opened.body.story.last_seq + (self.is_right is not None)

    @property
    def title(self) -> str:
        """Return its heading."""
        if self.opened is None:
            return gettext("Answer {letter}").format(letter=self.letter)
        return f"{self.letter}: {self.opened.name}"


@dataclass(frozen=True, slots=True)
class ShownVote:
    """A vote with its reason."""

    vote: ComparisonVote
    reason: str | None
    """None: it has been erased."""

    @property
    def words(self) -> str:
        """Return the choice in words."""
        return choice_words(self.vote.choice, self.vote.position)


@dataclass(frozen=True, slots=True)
class ShownJudgement:
    """A judgement with what the judge said in each order."""

    judgement: ComparisonJudgement
    replies: tuple[JudgeReply, JudgeReply]

    @property
    def words(self) -> str:
        """Return what came of it in words."""
        place = self.judgement.position
        words = JUDGED[self.judgement.state]
        if self.is_stopped_by_policy:
            words = STOPPED
        elif self.has_failed:
            words = FAILED
        return gettext(words).format(
            judge=direct_worker(self.judgement.worker) or self.judgement.worker,
            letter="" if place is None else LETTERS[place],
        )

    @property
    def undecided(self) -> str:
        """Return what it means for the answers that none is better, in words."""
        words = UNDECIDED.get(self.judgement.state, NOT_JUDGED)
        if self.is_stopped_by_policy:
            words = STOPPED_JUDGE
        elif self.has_failed:
            words = FAILED_JUDGE
        return gettext(words)

    @property
    def is_stopped_by_policy(self) -> bool:
        """Return whether a policy has stopped the judge, in one order or both."""
        return any(reply.is_stopped_by_policy for reply in self.replies)

    @property
    def has_failed(self) -> bool:
        """Return whether a call of the judge has ended without an answer."""
        return any(reply.run.error_code for reply in self.replies)

    @property
    def cost_micros(self) -> int:
        """Return what both calls cost, as far as it is known."""
        return sum(reply.run.cost_micros for reply in self.replies)

    @property
    def has_unknown_cost(self) -> bool:
        """Say whether a price is missing."""
        return any(reply.run.has_unknown_cost for reply in self.replies)

    @property
    def reasons(self) -> list[tuple[str, JudgeReply]]:
        """Return the replies, each with the order in which it read the answers."""
        letters = [LETTERS[place] for place in self.judgement.positions]
        orders = (", ".join(letters), ", ".join(reversed(letters)))
        return list(zip(orders, self.replies, strict=True))


@dataclass(frozen=True, slots=True)
class ComparisonSheet:
    """Everything that the templates of a comparison read."""

    view: ComparisonView | None
    """None: two runs beside each other that nobody has kept as a comparison."""
    columns: tuple[AnswerColumn, ...]
    title: str
    """The beginning of the prompt; empty: erased."""
    prompt: str
    """Empty: the prompts differ, or are erased."""
    has_different_prompts: bool
    base: str
    """Letter of the answer that the others are compared with; empty: none is."""
    votes: tuple[ShownVote, ...] = ()
    judgement: ShownJudgement | None = None
    verdicts: TaskVerdicts | None = None
    """Which answers are right. None: nobody knows, or not all have ended."""

    @property
    def is_over(self) -> bool:
        """Say whether every run has ended."""
        return all(column.is_over for column in self.columns)

    @property
    def is_judging(self) -> bool:
        """Say whether a judge is at work."""
        found = self.judgement
        return found is not None and found.judgement.state == JudgementState.RUNNING

    @property
    def is_revealed(self) -> bool:
        """Say whether it shows what made the answers."""
        return all(column.opened is not None for column in self.columns)

    @property
    def own_vote(self) -> ComparisonVote | None:
        """Return the person's vote, if they voted."""
        return self.view.own_vote if self.view else None

    @property
    def own_reason(self) -> str:
        """Return the reason of that vote."""
        own = (each.reason for each in self.votes if each.vote == self.own_vote)
        return next(own, "") or ""

    @property
    def steps(self) -> list[StepPair]:
        """Return the steps of two revealed plans; of more, or of none: nothing."""
        opened = self._opened
        if len(opened) != 2:
            return []
        return step_pairs(*(each.body.story for _, each in opened))

    @property
    def words(self) -> tuple[str, ...]:
        """Return what there is to say of the answers, the decision first.

        What one took beside another stands there only with which one was better.
        """
        if not self.is_revealed:
            return ()
        opened = self._opened
        names: list[Named] = [
            (f"{column.letter} ({run.name})", run.body.story) for column, run in opened
        ]
        going = [name for name, story in names if not story.is_over]
        if going:
            words = ngettext(
                "{names} is still running. The comparison follows at the end.",
                "{names} are still running. The comparison follows at the end.",
                len(going),
            )
            return (words.format(names=listed(going)),)
        if self.verdicts:
            return self._by_verifier(self.verdicts, names)
        same = agreement(*names) if len(names) == 2 else []
        better = self.view.preferred if self.view else None
        if better is None and is_same_answer(names) and not self._has_opinions:
            cheaper, dearer = sorted(names, key=lambda n: n[1].total_cost.micros)
            return (*same, *difference(cheaper, dearer))
        if better is None:
            return (self._undecided, *same, costs_alone(names), *_endings(names))
        by_position = dict(zip((c.position for c, _ in opened), names, strict=True))
        mine = by_position.pop(better, None)
        if mine is None:  # the run of the better answer is gone
            return (self._undecided, *same, costs_alone(names), *_endings(names))
        beside = by_position.values()
        sentences = [s for other in beside for s in difference(mine, other)]
        decided = self._decided(mine[0])
        return (decided, *same, *dict.fromkeys(sentences))

    def _by_verifier(
        self, verdicts: TaskVerdicts, names: Sequence[Named]
    ) -> tuple[str, ...]:
        """Return which answers are right, and what these took beside the others."""
        places = [column.position for column, _ in self._opened]
        said = verdicts.words({p: n for p, (n, _) in zip(places, names, strict=True)})
        if not verdicts.is_decided:
            return (said, costs_alone(names), *_endings(names))
        of = dict(zip(places, names, strict=True))
        right = [named for place, named in of.items() if verdicts.is_right[place]]
        wrong = [named for place, named in of.items() if not verdicts.is_right[place]]
        ratios = [s for other in wrong for s in difference(right[0], other)]
        return (said, *dict.fromkeys(ratios))

    @property
    def _opened(self) -> list[tuple[AnswerColumn, OpenedRun]]:
        return [(each, each.opened) for each in self.columns if each.opened]

    @property
    def _has_opinions(self) -> bool:
        """Say whether somebody has voted, or a judge was asked."""
        return bool(self.votes or self.judgement)

    @property
    def _undecided(self) -> str:
        if self.view and self.view.votes:
            if self.view.leading == VoteChoice.NONE:
                return gettext("None of the answers is good, by the votes.")
            return gettext("No answer is better than the others, by the votes.")
        return self.judgement.undecided if self.judgement else gettext(NOT_JUDGED)

    def _decided(self, name: str) -> str:
        assert self.view is not None
        votes = self.view.votes
        if not votes:
            return gettext("{name} is better, says the judge.").format(name=name)
        named = sum(vote.position == self.view.preferred for vote in votes)
        words = ngettext(
            "{name} is better, by {number} of {total} vote.",
            "{name} is better, by {number} of {total} votes.",
            len(votes),
        )
        return words.format(name=name, number=named, total=len(votes))


def choice_words(choice: str, position: int | None) -> str:
    """Return what somebody decided, in words."""
    if position is None:
        return gettext(str(VoteChoice(choice).label))
    return gettext("{letter} is better").format(letter=LETTERS[position])


def comparison_sheet(
    view: ComparisonView, actor: Actor, now: datetime, *, base: str = ""
) -> ComparisonSheet:
    """Return a comparison as somebody may see it.

    `base`: letter of the answer whose differences to the others are shown. Raises:
    NotFound if none of its runs is there any more.
    """
    team_id = view.comparison.team_id
    runs = {each.answer.position: each.run for each in view.answers}
    if not runs:
        raise NotFound("the runs of this comparison are no longer there")
    sheet = _sheet(view, runs, actor, now, base)
    replies = judge_replies(team_id, view.judgement) if view.judgement else None
    return replace(
        sheet,
        votes=tuple(ShownVote(v, vote_reason(team_id, v)) for v in view.votes),
        judgement=(
            ShownJudgement(view.judgement, replies)
            if view.judgement and replies
            else None
        ),
    )


def pair_sheet(
    left: Run, right: Run, actor: Actor, now: datetime, *, base: str = ""
) -> ComparisonSheet:
    """Return two runs that nobody has kept as a comparison."""
    return _sheet(None, {0: left, 1: right}, actor, now, base)


def _sheet(
    view: ComparisonView | None,
    runs: Mapping[int, Run],
    actor: Actor,
    now: datetime,
    base: str,
) -> ComparisonSheet:
    team_id = next(iter(runs.values())).team_id
    ratings = ratings_by(team_id, [run.id for run in runs.values()], actor)
    bodies = {i: compose(run.id, run_events(run), now) for i, run in runs.items()}
    is_revealed = view is None or view.is_revealed
    mask = (
        None if is_revealed else name_mask(team_id, [run.id for run in runs.values()])
    )
    texts = {i: _answer(body.story, mask) for i, body in bodies.items()}
    stories = [body.story for body in bodies.values()]
    prompts = {story.prompt for story in stories}
    base = base if _is_comparable(base, bodies) else ""
    is_over = all(story.is_over for story in stories)
    verdicts = None
    if is_revealed and is_over and len(prompts) == 1:
        verdicts = task_verdicts(team_id, stories[0].prompt, texts)
    columns = [
        AnswerColumn(
            position=i,
            answer=texts[i],
            is_over=bodies[i].story.is_over,
            is_preferred=view is not None and is_revealed and view.preferred == i,
            rating=ratings.get(runs[i].id, ""),
            opened=OpenedRun(runs[i], bodies[i]) if is_revealed else None,
            differences=_differences(i, texts, base),
            is_right=verdicts.is_right[i] if verdicts else None,
        )
        for i in sorted(runs)
    ]
    return ComparisonSheet(
        view=view,
        columns=tuple(columns),
        title=next(iter(runs.values())).title,
        prompt=next(iter(prompts)) if len(prompts) == 1 else "",
        has_different_prompts=len(prompts) > 1 and "" not in prompts,
        base=base,
        verdicts=verdicts,
    )


def _answer(story: RunView, mask: NameMask | None = None) -> str:
    """Return the answer of a run that has ended well; without names, if they hide."""
    text = (story.answer or "") if story.state == "completed" else ""
    return text if mask is None else mask.whole(text)


def _is_comparable(letter: str, bodies: Mapping[int, RunBody]) -> bool:
    place = LETTERS.find(letter) if letter else -1
    return place in bodies and all(body.story.is_over for body in bodies.values())


def _differences(
    position: int, texts: Mapping[int, str], base: str
) -> Differences | None:
    """Return what an answer has that the base lacks; of two answers, both ways."""
    if not base:
        return None
    place = LETTERS.index(base)
    if position == place:
        if len(texts) > 2:
            return None
        place = next((i for i in texts if i != position), place)
    return differences(texts[position], texts[place])


def _endings(names: Sequence[Named]) -> list[str]:
    words = gettext("{name} gave no answer.")
    return [words.format(name=n) for n, story in names if not _answer(story)]
