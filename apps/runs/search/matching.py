"""Finds the runs of a team whose texts have all words and phrases of a query.

Words are looked up in the index. Runs that are not in it, or not with all of their
words, are read themselves, up to a number; so are runs with the words of a phrase.
The result says what was not searched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import reduce
from operator import and_
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.dateformat import format as format_date
from django.utils.translation import gettext

from apps.audit.selectors import entry_recorded_at, newest_subjects
from apps.core.errors import InvalidInput
from apps.runs.hex_ids import HexId
from apps.runs.models import Run, RunState
from apps.runs.records.search import run_list
from apps.runs.search.blocks import LARGE, bitmaps_of
from apps.runs.search.indexing import MOST_WORDS
from apps.runs.search.postings import offsets_in
from apps.runs.search.run_texts import texts_of_runs
from apps.runs.search.word_codes import codes_sought
from apps.runs.search.words import (
    MOST_SOUGHT,
    TextQuery,
    comparable,
    query_read,
    words_in,
)
from apps.runs.search_models import IndexedRun, SearchProgress
from apps.runs.types import RunFilters

MATCHES = 2_000
"""Runs with all words that a list is made of, the newest ones."""
PHRASES_CHECKED = 200
"""Runs with all words of a phrase whose texts are read, the newest ones."""
RUNS_READ = 50
"""Runs not in the index that are read themselves, the newest ones."""
LONG_RUNS_READ = 20
"""Of runs that are in the index in part; they have long texts."""
RUNS_LOOKED_UP = 2_000
"""Runs that have all words, in one statement."""
RUNS_WALKED = 20_000
"""Runs that may have them, in one statement."""
WALK_FROM = 0.3
"""To look up a run that has the words takes three times as long as to come across it:
from where on it is quicker to go through all runs until enough have them."""
NEW_ENTRIES = 2_000
"""Entries behind the index that are looked at for runs."""
RUN = "run"
ItemT = TypeVar("ItemT")


class SearchGap(StrEnum):
    """What a search did not look at, or not wholly."""

    OLDER = "older"
    """Older runs are not in the index yet."""
    NEWEST = "newest"
    """Too many runs are not in the index yet: not all of them were read."""
    LONG = "long"
    """Too many runs have more words than the index takes."""
    PHRASE = "phrase"
    """Too many runs have the words of the phrase."""
    MATCHES = "matches"
    """More runs were found than are listed."""
    WORDS = "words"
    """The query has too many words."""
    UNREADABLE = "unreadable"
    """Entries of some runs cannot be read."""


@dataclass(frozen=True, slots=True)
class RunSearch:
    """What a search found."""

    runs: QuerySet[Run]
    """Newest first."""
    gaps: tuple[SearchGap, ...] = ()
    """Empty: all runs that the other filters leave were looked at."""
    indexed_since: datetime | None = None
    """With the gap `older`: runs that ended before were not looked at."""

    @property
    def sentences(self) -> list[str]:
        """Return the gaps in words, for people."""
        since = self.indexed_since
        begin = (
            f"{format_date(since, 'j M Y, H:i')} UTC" if since else gettext("some time")
        )
        words = {
            SearchGap.OLDER: gettext(
                "Runs that ended before {begin} are not indexed yet and were not "
                "searched."
            ).format(begin=begin),
            SearchGap.NEWEST: gettext(
                "The newest runs are still being indexed; {number} of them were "
                "searched."
            ).format(number=RUNS_READ),
            SearchGap.LONG: gettext(
                "Of runs with more than {words} different words, all words were "
                "searched only in the newest {number}."
            ).format(words=f"{MOST_WORDS:,}", number=LONG_RUNS_READ),
            SearchGap.PHRASE: gettext(
                "The phrase was looked for in the newest {number} runs that have its "
                "words."
            ).format(number=PHRASES_CHECKED),
            SearchGap.MATCHES: gettext(
                "Only the newest {number} of the runs found are listed."
            ).format(number=f"{MATCHES:,}"),
            SearchGap.WORDS: gettext(
                "Only the first {number} words were looked for."
            ).format(number=MOST_SOUGHT),
            SearchGap.UNREADABLE: gettext(
                "Some runs cannot be read and were not searched."
            ),
        }
        return [words[gap] for gap in self.gaps]


def run_search(
    *, team_id: UUID, filters: RunFilters, within: QuerySet[Any, Any] | None = None
) -> RunSearch:
    """Return a team's runs, newest first, narrowed to those with `filters.text`.

    `within`: ids of runs; no other is looked at. Raises: InvalidInput if the text has
    no word.
    """
    runs = run_list(team_id=team_id, filters=filters)
    if within is not None:
        runs = runs.filter(id__in=within)
    if not filters.text:
        return RunSearch(runs)
    query = query_read(filters.text)
    if not query.words:
        raise InvalidInput(
            "the search looks for words, and this has neither letters nor digits",
            param="query",
        )
    return _Search(team_id, runs, query).result()


class _Search:
    """A search in progress."""

    def __init__(self, team_id: UUID, runs: QuerySet[Run], query: TextQuery) -> None:
        self._team_id = team_id
        self._runs = runs
        self._query = query
        self._gaps: list[SearchGap] = []
        if query.is_cut:
            self._gaps.append(SearchGap.WORDS)

    def result(self) -> RunSearch:
        place = SearchProgress.objects.for_team(self._team_id).first()
        read = self._having(self._unindexed(place) + self._indexed_in_part())
        # The index is asked last: it has a run that is indexed meanwhile.
        found = self._matches(place.runs) if place else []
        if self._query.phrases:
            found = self._with_phrases(self._runs.filter(id__in=found))
        since = self._indexed_since(place)
        gaps = tuple(dict.fromkeys(self._gaps))
        return RunSearch(self._runs.filter(id__in={*found, *read}), gaps, since)

    def _matches(self, indexed: int) -> list[UUID]:
        """Return the ids of the newest of the indexed runs that have all words.

        They are read once: counting and paging look up ids.
        """
        words = [codes_sought(self._team_id, word) for word in self._query.words]
        having = {
            block: reduce(and_, bitmaps)
            for block, bitmaps in bitmaps_of(self._team_id, words).items()
        }
        count = sum(bitmap.bit_count() for bitmap in having.values())
        if count * count > WALK_FROM * MATCHES * indexed:
            ids = self._walked(having, count / indexed)
        else:
            ids = self._looked_up(having)
            if count <= MATCHES:
                return list(map(UUID, ids))
            ids = self._filtered(sorted(ids, reverse=True))
        if len(ids) > MATCHES:
            self._gaps.append(SearchGap.MATCHES)
        return list(map(UUID, ids[:MATCHES]))

    def _looked_up(self, having: Mapping[int, int]) -> list[str]:
        """Return the ids of all runs in some bitmaps, by their blocks."""
        numbers = [
            block * LARGE.runs + offset
            for block, bitmap in having.items()
            if bitmap
            for offset in offsets_in(bitmap)
        ]
        indexed = IndexedRun.objects.for_team(self._team_id)
        return [
            run_id
            for some in _pages(numbers)
            for (run_id,) in indexed.filter(number__in=some).values_list(
                HexId("run_id")
            )
        ]

    def _filtered(self, ids: Sequence[str]) -> list[str]:
        """Return those that the other filters leave, until there are enough."""
        found: list[str] = []
        for some in _pages(ids):
            left = self._runs.filter(id__in=some).values_list(HexId("id"))
            found += [run_id for (run_id,) in left]
            if len(found) > MATCHES:
                break
        return found

    def _walked(self, having: Mapping[int, int], share: float) -> list[str]:
        """Return the newest runs in some bitmaps, going through all from the newest on.

        So many have the words, `share` of all, that enough are soon found.
        """
        indexed = IndexedRun.objects.for_team(self._team_id)
        number = indexed.filter(run_id=OuterRef("id")).values("number")
        columns = HexId("id"), Subquery(number)
        size = min(int(1.2 * MATCHES / share) + 1, RUNS_WALKED)
        found: list[str] = []
        page = list(self._runs.values_list(*columns)[:size])
        while page:
            for run_id, place in page:
                block, offset = divmod(-1 if place is None else place, LARGE.runs)
                if having.get(block, 0) >> offset & 1:
                    found.append(run_id)
            if len(found) > MATCHES or len(page) < size:
                break
            later = self._runs.filter(id__lt=page[-1][0])
            page = list(later.values_list(*columns)[:size])
        return found

    def _unindexed(self, place: SearchProgress | None) -> list[Run]:
        """Return the newest runs that are not in the index yet."""
        through = place.through_seq if place else 0
        ids, has_more = newest_subjects(
            self._team_id, RUN, after_seq=through, limit=NEW_ENTRIES
        )
        indexed = IndexedRun.objects.for_team(self._team_id).filter(
            run_id=OuterRef("id")
        )
        # Two statements: for one with OR a database goes through all runs.
        behind = Q(id__in=ids), Q(state=RunState.RUNNING)
        rows = [
            self._runs.filter(each).exclude(Exists(indexed))[: RUNS_READ + 1]
            for each in behind
        ]
        both = {run.id: run for some in rows for run in some}
        found = sorted(both.values(), key=lambda run: run.id, reverse=True)
        if has_more or len(found) > RUNS_READ:
            self._gaps.append(SearchGap.NEWEST)
        return found[:RUNS_READ]

    def _indexed_in_part(self) -> list[Run]:
        """Return the newest runs with more words than the index takes."""
        rows = IndexedRun.objects.for_team(self._team_id).filter(is_partial=True)
        if not rows.exists():
            return []
        ids = rows.order_by("-run_id").values("run_id")[:MATCHES]
        found = list(self._runs.filter(id__in=ids)[: LONG_RUNS_READ + 1])
        if len(found) > LONG_RUNS_READ:
            self._gaps.append(SearchGap.LONG)
        return found[:LONG_RUNS_READ]

    def _having(self, runs: Sequence[Run]) -> list[UUID]:
        """Return which of some runs have all words and phrases, by their texts."""
        sought = set(self._query.words)
        found = []
        for run_id, texts in texts_of_runs(runs):
            if texts is None:
                self._gaps.append(SearchGap.UNREADABLE)
                continue
            words = {word for text in texts for word in words_in(text)}
            if sought <= words and _have(texts, self._query.phrases):
                found.append(run_id)
        return found

    def _with_phrases(self, runs: QuerySet[Run]) -> list[UUID]:
        """Return which of the newest of some runs have the phrases."""
        newest = list(runs[: PHRASES_CHECKED + 1])
        if len(newest) > PHRASES_CHECKED:
            self._gaps.append(SearchGap.PHRASE)
        phrases = self._query.phrases
        return [
            run_id
            for run_id, texts in texts_of_runs(newest[:PHRASES_CHECKED])
            if texts is not None and _have(texts, phrases)
        ]

    def _indexed_since(self, place: SearchProgress | None) -> datetime | None:
        if place is None or place.from_seq == 0:
            return None
        self._gaps.append(SearchGap.OLDER)
        return entry_recorded_at(self._team_id, place.from_seq)


def _have(texts: Sequence[str], phrases: Collection[str]) -> bool:
    """Say whether each phrase stands in one of the texts."""
    if not phrases:
        return True
    compared = [comparable(text) for text in texts]
    return all(any(phrase in text for text in compared) for phrase in phrases)


def _pages(items: Sequence[ItemT]) -> Iterator[Sequence[ItemT]]:
    for start in range(0, len(items), RUNS_LOOKED_UP):
        yield items[start : start + RUNS_LOOKED_UP]
