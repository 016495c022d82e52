"""The rows of the index: levels of blocks, how they grow together and how words go.

A step of the job adds its runs as one row of level 0. Whenever the runs of a block of
level 1 are complete, its rows of level 0 become rows of level 1, one for each bucket of
words; 32 blocks of level 1 become one of level 2 in the same way, with smaller buckets.
So a run is written three times, some bytes a word, and a search reads few rows a word.

A reader takes all levels in one statement, and finds each posting at least once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from apps.core.background.pacing import give_way
from apps.runs.search.postings import (
    CODE_BITS,
    MAX_OFFSETS,
    PREFIX_BITS,
    bitmap_of,
    postings_between,
    postings_merged,
    postings_packed,
    postings_without,
)
from apps.runs.search_models import SearchBlock, SearchProgress

GROUPS = 8
"""Commits in which a block of level 1 is written: each is short."""
Rows = list[tuple[int, bytes]]


class Level(NamedTuple):
    """How the index is divided on a level."""

    number: int
    bucket_bits: int
    runs: int
    """The runs of a block."""

    def bucket_of(self, code: int) -> int:
        """Return the bucket of a word."""
        return code >> CODE_BITS - self.bucket_bits

    def first_code(self, bucket: int) -> int:
        """Return the least code that a bucket may have."""
        return bucket << CODE_BITS - self.bucket_bits


NEW = Level(0, 0, 1)
"""Blocks of level 0 have as many runs as the step that made them."""
SMALL = Level(1, 7, 1 << 10)
LARGE = Level(2, 10, MAX_OFFSETS)


def new_blocks(
    team_id: UUID, first: int, runs: Sequence[Sequence[int]]
) -> Iterator[SearchBlock]:
    """Return the rows of runs that are added: `runs` has the codes of each.

    The first one gets the number `first`. No row is of two blocks of level 1.
    """
    numbered = list(enumerate(runs, first))
    for _, some in groupby(numbered, key=lambda pair: pair[0] // SMALL.runs):
        words: dict[int, list[int]] = defaultdict(list)
        block = None
        for number, codes in some:
            block = number if block is None else block
            for code in codes:
                words[code].append(number - block)
        if words and block is not None:
            yield _row(team_id, NEW, 0, block, postings_packed(words))


def bitmaps_of(team_id: UUID, words: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """Return which runs have which words: a bitmap of each word, by large block.

    `words`: the codes that each may have.
    """
    codes = [code for some in words for code in some]
    rows = SearchBlock.objects.for_team(team_id)
    # In one statement: what changes levels meanwhile is on one of them.
    parts = [
        rows.filter(
            level=level.number, bucket__in={level.bucket_of(code) for code in codes}
        ).values_list("level", "bucket", "block", "postings")
        for level in (NEW, SMALL, LARGE)
    ]
    found: dict[int, list[int]] = defaultdict(lambda: [0] * len(words))
    for number, bucket, block, postings in parts[0].union(*parts[1:], all=True):
        level, data = LEVELS[number], bytes(postings)
        large, base = divmod(block * level.runs, LARGE.runs)
        for place, some in enumerate(words):
            here = [code for code in some if level.bucket_of(code) == bucket]
            if here and (bitmap := bitmap_of(data, here)):
                found[large][place] |= bitmap << base
    return found


def words_erase(team_id: UUID, runs: Mapping[int, Collection[int]]) -> None:
    """Take runs out of the index: by their numbers, the prefixes of their codes.

    Call it in a transaction that has locked the team's progress.
    """
    changed = _News()
    for level in (SMALL, LARGE):
        for block, numbers in groupby(sorted(runs), key=lambda n: n // level.runs):
            buckets = _buckets(level, {n % level.runs: runs[n] for n in numbers})
            rows = SearchBlock.objects.for_team(team_id).filter(
                level=level.number, block=block, bucket__in=buckets
            )
            for stored in rows:
                changed.take_out(stored, buckets[stored.bucket])
    if runs:
        _take_out_new(team_id, runs, changed)
    changed.write()


def blocks_merge(place: SearchProgress) -> Iterator[int]:
    """Let complete blocks grow together, in short commits; yield 0 after each.

    Ends early if something is erased meanwhile, or another process does the same: the
    next call goes on.
    """
    rows = SearchBlock.objects.for_team(place.team_id)
    complete = place.runs - place.runs % SMALL.runs
    fresh = rows.filter(level=NEW.number, bucket=0, block__lt=complete)
    while (first := fresh.order_by("block").values_list("block").first()) is not None:
        block = first[0] // SMALL.runs
        for is_written in _to_small(place, block):
            yield 0
            if not is_written:
                return
    complete = place.runs // LARGE.runs * (LARGE.runs // SMALL.runs)
    small = rows.filter(level=SMALL.number, block__lt=complete)
    while (next_row := small.order_by("bucket", "block").first()) is not None:
        is_written = _to_large(place, next_row.bucket, next_row.block)
        yield 0
        if not is_written:
            return


LEVELS = {level.number: level for level in (NEW, SMALL, LARGE)}


def _buckets(
    level: Level, runs: Mapping[int, Collection[int]]
) -> dict[int, dict[int, list[int]]]:
    """Return prefixes by offset, by the bucket of the level that they are in."""
    buckets: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for offset, prefixes in runs.items():
        for prefix in prefixes:
            bucket = prefix >> PREFIX_BITS - level.bucket_bits
            buckets[bucket][offset].append(prefix)
    return buckets


def _take_out_new(
    team_id: UUID, runs: Mapping[int, Collection[int]], changed: _News
) -> None:
    """Take runs out of level 0, where a row has the runs up to the next one."""
    first, last = min(runs), max(runs)
    rows = SearchBlock.objects.for_team(team_id).filter(
        level=NEW.number,
        bucket=0,
        block__gte=first - first % SMALL.runs,
        block__lte=last,
    )
    stored = list(rows.order_by("block"))
    begins = [row.block for row in stored]
    for number, prefixes in runs.items():
        place = bisect_right(begins, number) - 1
        # What is left of the row's small block is no longer on level 0.
        if place >= 0 and begins[place] // SMALL.runs == number // SMALL.runs:
            row = stored[place]
            changed.take_out(row, {number - row.block: prefixes})


class _News:
    """Rows that words are taken out of, written together."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int, int], SearchBlock] = {}

    def take_out(self, row: SearchBlock, erased: Mapping[int, Collection[int]]) -> None:
        key = row.level, row.bucket, row.block
        row = self._rows.setdefault(key, row)
        row.postings = postings_without(bytes(row.postings), erased)

    def write(self) -> None:
        _write(row for row in self._rows.values() if row.postings)
        for row in self._rows.values():
            if not row.postings:
                row.delete()


def _to_small(place: SearchProgress, block: int) -> Iterator[bool]:
    """Make a block of level 1, a part of the buckets at a time.

    Yields whether each part was written. With the last one the old rows go; until then
    a word may be in both, which a reader does not mind.
    """
    first = block * SMALL.runs
    olds = SearchBlock.objects.for_team(place.team_id).filter(
        level=NEW.number, bucket=0, block__gte=first, block__lt=first + SMALL.runs
    )
    rows: Rows = [
        (number - first, bytes(postings))
        for number, postings in olds.order_by("block").values_list("block", "postings")
    ]
    buckets = 1 << SMALL.bucket_bits
    for start in range(0, buckets, buckets // GROUPS):
        part = range(start, start + buckets // GROUPS)
        ends = SMALL.first_code(part.start), SMALL.first_code(part.stop)
        words = _words_between(rows, *ends)
        news = _rows_of(place.team_id, SMALL, block, words)
        is_last = part.stop == buckets
        yield _replace(place, news, olds, len(rows), keeps_olds=not is_last)


def _words_between(rows: Rows, first: int, last: int) -> dict[int, list[int]]:
    words: dict[int, list[int]] = defaultdict(list)
    for base, data in rows:
        for code, offsets in postings_between(data, first, last).items():
            words[code] += [base + offset for offset in offsets]
        give_way()
    return words


def _to_large(place: SearchProgress, bucket: int, first: int) -> bool:
    """Move a bucket of level 1 to level 2: of the block of level 2 of its block."""
    ratio = LARGE.runs // SMALL.runs
    block = first // ratio
    olds = SearchBlock.objects.for_team(place.team_id).filter(
        level=SMALL.number,
        bucket=bucket,
        block__gte=block * ratio,
        block__lt=(block + 1) * ratio,
    )
    rows: Rows = [
        ((number - block * ratio) * SMALL.runs, bytes(postings))
        for number, postings in olds.order_by("block").values_list("block", "postings")
    ]
    news = _rows_of(place.team_id, LARGE, block, postings_merged(rows))
    return _replace(place, news, olds, len(rows))


def _rows_of(
    team_id: UUID, level: Level, block: int, words: Mapping[int, list[int]]
) -> list[SearchBlock]:
    return [
        _row(
            team_id,
            level,
            bucket,
            block,
            postings_packed({code: words[code] for code in codes}),
        )
        for bucket, codes in groupby(sorted(words), key=level.bucket_of)
    ]


def _row(
    team_id: UUID, level: Level, bucket: int, block: int, postings: bytes
) -> SearchBlock:
    return SearchBlock(
        team_id=team_id,
        level=level.number,
        bucket=bucket,
        block=block,
        postings=postings,
    )


def _replace(
    place: SearchProgress,
    news: Sequence[SearchBlock],
    olds: QuerySet[SearchBlock],
    count: int,
    *,
    keeps_olds: bool = False,
) -> bool:
    """Write rows in place of others, unless what they were made of is out of date."""
    with transaction.atomic():
        same = SearchProgress.objects.for_team(place.team_id).select_for_update()
        if same.filter(erasures=place.erasures).first() is None:
            return False
        # Another process may have been faster: all of them are there, or none.
        if olds.count() != count:
            return False
        if not keeps_olds:
            olds.delete()
        _write(news)
    return True


def _write(rows: Iterable[SearchBlock]) -> None:
    SearchBlock.objects.bulk_create(
        rows,
        update_conflicts=True,
        update_fields=["postings"],
        unique_fields=["team_id", "level", "bucket", "block"],
    )
