"""Keeps the search index: adds runs that have ended, and erases what is to be erased.

A step reads the runs that ended in a stretch of the chain and writes the codes of their
words with how far it has come, in one short transaction: two processes, or a crash,
lose and repeat nothing. What was read before texts were erased is never written after.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import F

from apps.accounts.models import Team
from apps.audit.selectors import chain_ends, subjects_of
from apps.engine import events as ev
from apps.runs.models import Run
from apps.runs.search.run_texts import texts_of_runs
from apps.runs.search.word_codes import packed, unpacked, word_codes
from apps.runs.search.words import words_in
from apps.runs.search_models import IndexedRun, SearchProgress, SearchWord

logger = logging.getLogger(__name__)
ENTRIES_AT_ONCE = 300
"""Of the chain in one step: about 30 runs."""
MOST_WORDS = 2_000
"""Different words of a run that the index takes: about 60 kB of ordinary text."""
ROWS_AT_ONCE = 1_000
ENDS = (ev.RunCompleted.action, ev.RunFailed.action, ev.RunCancelled.action)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a chain that a step takes, and where the index stands after it."""

    after_seq: int
    through_seq: int
    is_backward: bool
    """True: of the older runs, which are indexed from the newest one backwards."""


def runs_index() -> Iterator[int]:
    """Index what has ended, of all teams, step by step; yield how many runs each took.

    Nothing happens before the first is asked for. Raises: DatabaseError.
    """
    places = {row.team_id: row for row in SearchProgress.objects.across_teams()}
    ends = chain_ends()
    present = set(Team.objects.values_list("id", flat=True))
    for team_id, end in sorted(ends.items()):
        place = places.get(team_id)
        is_done = place and place.from_seq == 0 and place.through_seq >= end
        if team_id in present and not is_done:
            yield from team_runs_index(team_id, end)


def team_runs_index(team_id: UUID, end: int) -> Iterator[int]:
    """Index the runs of a team up to a place in its chain, newest first."""
    while True:
        place = _place_of(team_id, end)
        stretch = _next_stretch(place, end)
        if stretch is None:
            return
        yield _step(place, stretch)


def search_words_erase(team_id: UUID, run_ids: Collection[UUID]) -> None:
    """Take some runs out of the index. Ids that are not in it are ignored.

    Call it in the transaction that erases their texts, before they are erased.
    """
    # The row is locked until the transaction ends: a step that has read the texts
    # already then finds that it came too late.
    SearchProgress.objects.for_team(team_id).update(erasures=F("erasures") + 1)
    indexed = IndexedRun.objects.for_team(team_id).filter(run_id__in=run_ids)
    words = SearchWord.objects.for_team(team_id)
    for run_id, codes in indexed.values_list("run_id", "words"):
        stored = unpacked(bytes(codes))
        for start in range(0, len(stored), ROWS_AT_ONCE):
            some = stored[start : start + ROWS_AT_ONCE]
            words.filter(word__in=some, run_id=run_id).delete()
    indexed.update(words=b"", is_partial=False)


def index_forget(team_id: UUID) -> None:
    """Empty the index of a team, so that it is made anew."""
    with transaction.atomic():
        SearchProgress.objects.for_team(team_id).delete()
        IndexedRun.objects.for_team(team_id).delete()
        SearchWord.objects.for_team(team_id).delete()


def _place_of(team_id: UUID, end: int) -> SearchProgress:
    """Return how far a team's index is; a new one begins near the end of the chain."""
    begin = max(0, end - ENTRIES_AT_ONCE)
    row, _ = SearchProgress.objects.for_team(team_id).get_or_create(
        team_id=team_id, defaults={"from_seq": begin, "through_seq": begin}
    )
    return row


def _next_stretch(place: SearchProgress, end: int) -> Stretch | None:
    if place.through_seq < end:
        through = min(place.through_seq + ENTRIES_AT_ONCE, end)
        return Stretch(place.through_seq, through, is_backward=False)
    if place.from_seq > 0:
        after = max(0, place.from_seq - ENTRIES_AT_ONCE)
        return Stretch(after, place.from_seq, is_backward=True)
    return None


def _step(place: SearchProgress, stretch: Stretch) -> int:
    """Index one stretch; return how many runs it had."""
    team_id = place.team_id
    ended = subjects_of(
        team_id, ENDS, after_seq=stretch.after_seq, through_seq=stretch.through_seq
    )
    runs = list(Run.objects.for_team(team_id).filter(id__in=ended).order_by("id"))
    indexed = [_indexed(team_id, *each) for each in texts_of_runs(runs)]
    with transaction.atomic():
        rows = SearchProgress.objects.for_team(team_id).select_for_update()
        now = rows.filter(
            from_seq=place.from_seq,
            through_seq=place.through_seq,
            erasures=place.erasures,
        ).first()
        if now is None:
            return 0  # Another process took it, or texts were erased meanwhile.
        _write(team_id, indexed)
        if stretch.is_backward:
            now.from_seq = stretch.after_seq
        else:
            now.through_seq = stretch.through_seq
        now.save(update_fields=["from_seq", "through_seq"])
    return len(indexed)


def _indexed(team_id: UUID, run_id: UUID, texts: list[str] | None) -> IndexedRun:
    """Return what the index keeps of a run; None in place of texts: unreadable."""
    if texts is None:
        logger.warning("search: the entries of run %s cannot be read", run_id)
    words: dict[str, None] = {}
    is_partial = texts is None
    for word in (word for text in texts or () for word in words_in(text)):
        if word not in words and len(words) == MOST_WORDS:
            is_partial = True
            break
        words[word] = None
    # Once each: two words may share a code. Sorted, as they stand in the index.
    codes = sorted(set(word_codes(team_id, words)))
    return IndexedRun(
        run_id=run_id, team_id=team_id, words=packed(codes), is_partial=is_partial
    )


def _write(team_id: UUID, indexed: list[IndexedRun]) -> None:
    IndexedRun.objects.bulk_create(indexed, ignore_conflicts=True)
    rows = [
        SearchWord(team_id=team_id, word=code, run_id=run.run_id)
        for run in indexed
        for code in unpacked(bytes(run.words))
    ]
    rows.sort(key=lambda row: (row.word, row.run_id))
    SearchWord.objects.bulk_create(rows, ROWS_AT_ONCE, ignore_conflicts=True)
