"""Keeps the search index: adds runs that have ended, and erases what is to be erased.

A step reads the runs that ended in a stretch of the chain and writes the codes of their
words with how far it has come, in one short transaction: two processes, or a crash,
lose and repeat nothing. What was read before texts were erased is never written after.
How the rows are divided, and how they grow together: `blocks.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from struct import pack, unpack
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import F

from apps.accounts.models import Team
from apps.audit.selectors import chain_ends, subjects_of
from apps.core.background.pacing import give_way
from apps.engine import events as ev
from apps.runs.models import Run
from apps.runs.search.blocks import SMALL, blocks_merge, new_blocks, words_erase
from apps.runs.search.postings import PREFIX_BITS
from apps.runs.search.run_texts import texts_of_runs
from apps.runs.search.word_codes import word_codes
from apps.runs.search.words import words_in
from apps.runs.search_models import IndexedRun, SearchBlock, SearchProgress

logger = logging.getLogger(__name__)
ENTRIES_AT_ONCE = 150
"""Entries of one step: 15 to 30 runs, whose commit takes a few milliseconds."""
MOST_WORDS = 2_000
"""Different words of a run that the index takes: about 60 kB of ordinary text."""
ENDS = (ev.RunCompleted.action, ev.RunFailed.action, ev.RunCancelled.action)


class RunWords(NamedTuple):
    """What the index takes of a run."""

    run_id: UUID
    codes: list[int]
    is_partial: bool


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
    merged = -1
    while True:
        place = _place_of(team_id, end)
        if place.runs // SMALL.runs > merged:
            merged = place.runs // SMALL.runs
            yield from blocks_merge(place)
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
    words = indexed.values_list("number", "words")
    words_erase(team_id, {number: _unpacked(bytes(some)) for number, some in words})
    indexed.update(words=b"", is_partial=False)


def index_forget(team_id: UUID) -> None:
    """Empty the index of a team, so that it is made anew."""
    begin = _begin(chain_ends().get(team_id, 0))
    with transaction.atomic():
        SearchProgress.objects.for_team(team_id).update(
            from_seq=begin, through_seq=begin, runs=0, erasures=F("erasures") + 1
        )
        IndexedRun.objects.for_team(team_id).delete()
        SearchBlock.objects.for_team(team_id).delete()


def _begin(end: int) -> int:
    """Return where the index of a chain begins: near its end."""
    return max(0, end - ENTRIES_AT_ONCE)


def _place_of(team_id: UUID, end: int) -> SearchProgress:
    """Return how far a team's index is."""
    begin = _begin(end)
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
    known = IndexedRun.objects.for_team(team_id).filter(run_id__in=ended)
    ended -= set(known.values_list("run_id", flat=True))
    runs = Run.objects.for_team(team_id).filter(id__in=ended).order_by("id")
    words = []
    for run_id, texts in texts_of_runs(list(runs.only("id", "team_id"))):
        words.append(_words(team_id, run_id, texts))
        give_way()
    # All of it is made before the commit, which others wait for.
    rows = [
        IndexedRun(
            run_id=each.run_id,
            team_id=team_id,
            number=number,
            words=_packed(each.codes),
            is_partial=each.is_partial,
        )
        for number, each in enumerate(words, place.runs)
    ]
    blocks = list(new_blocks(team_id, place.runs, [each.codes for each in words]))
    return len(rows) if _write(place, stretch, rows, blocks) else 0


def _write(
    place: SearchProgress,
    stretch: Stretch,
    rows: list[IndexedRun],
    blocks: list[SearchBlock],
) -> bool:
    """Commit a step; False: another process took it, or texts were erased meanwhile."""
    same = SearchProgress.objects.for_team(place.team_id).filter(
        from_seq=place.from_seq,
        through_seq=place.through_seq,
        runs=place.runs,
        erasures=place.erasures,
    )
    begin, end = place.from_seq, place.through_seq
    if stretch.is_backward:
        begin = stretch.after_seq
    else:
        end = stretch.through_seq
    with transaction.atomic():
        count = place.runs + len(rows)
        if not same.update(from_seq=begin, through_seq=end, runs=count):
            return False
        IndexedRun.objects.bulk_create(rows)
        SearchBlock.objects.bulk_create(blocks)
    return True


def _words(team_id: UUID, run_id: UUID, texts: list[str] | None) -> RunWords:
    """Return the words of a run; None in place of texts: they cannot be read."""
    if texts is None:
        logger.warning("search: the entries of run %s cannot be read", run_id)
    words: dict[str, None] = {}
    is_partial = texts is None
    for word in (word for text in texts or () for word in words_in(text)):
        if word not in words and len(words) == MOST_WORDS:
            is_partial = True
            break
        words[word] = None
    # Once each: two words may share a code.
    codes = sorted(set(word_codes(team_id, words)))
    return RunWords(run_id, codes, is_partial)


def _packed(codes: list[int]) -> bytes:
    """Return the beginnings of codes, 4 bytes each."""
    return pack(f"<{len(codes)}I", *(code >> PREFIX_BITS for code in codes))


def _unpacked(data: bytes) -> tuple[int, ...]:
    return unpack(f"<{len(data) // 4}I", data)
