"""Rows of the search index: how few there are, how they grow together, what stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from apps.accounts.models import Team
from apps.runs.models import SearchBlock, SearchProgress
from apps.runs.search.blocks import (
    LARGE,
    SMALL,
    bitmaps_of,
    blocks_merge,
    new_blocks,
    words_erase,
)
from apps.runs.search.postings import (
    MAX_LISTED,
    PREFIX_BITS,
    bitmap_of,
    offsets_in,
    postings_merged,
    postings_packed,
    postings_unpacked,
    postings_without,
)
from tests.seeds import new_dice

pytestmark = pytest.mark.django_db
TOP = 1 << 63
STEP = 16
"""Runs of one step of the job."""
EVERYWHERE, OFTEN = 5, TOP + 7


@pytest.fixture
def team() -> Team:
    return Team.objects.create(name="Acme", slug="acme")


def code_of(number: int) -> int:
    """Return the code of a word that one run has; they are spread over all codes."""
    return (number + 1) * 0x9E3779B97F4A7C15 % (1 << 64)


def codes_of(number: int) -> list[int]:
    often = [OFTEN] if number % 3 == 0 else []
    return sorted([EVERYWHERE, code_of(number), *often])


def fill(team: Team, count: int) -> SearchProgress:
    """Add runs as steps of the job do, and return the progress."""
    for first in range(0, count, STEP):
        runs = [codes_of(n) for n in range(first, min(first + STEP, count))]
        SearchBlock.objects.bulk_create(new_blocks(team.id, first, runs))
    return SearchProgress.objects.create(
        team=team, from_seq=0, through_seq=1, runs=count
    )


def having(team: Team, *words: int) -> list[int]:
    """Return the numbers of the runs that have all of these words."""
    found = []
    for block, bitmaps in bitmaps_of(team.id, [(word,) for word in words]).items():
        bitmap = bitmaps[0]
        for other in bitmaps[1:]:
            bitmap &= other
        found += [block * LARGE.runs + offset for offset in offsets_in(bitmap)]
    return sorted(found)


def levels(team: Team) -> dict[int, int]:
    """Return how many rows there are of each level."""
    counts: dict[int, int] = {}
    for level in SearchBlock.objects.for_team(team.id).values_list("level", flat=True):
        counts[level] = counts.get(level, 0) + 1
    return counts


def test_rows_grow_together_and_find_what_they_found(team: Team) -> None:
    count = LARGE.runs + SMALL.runs + 40
    place = fill(team, count)
    for _ in blocks_merge(place):
        pass
    assert levels(team) == {
        0: 40 // STEP + 1,
        1: 1 << SMALL.bucket_bits,
        2: 1 << LARGE.bucket_bits,
    }
    assert having(team, EVERYWHERE) == list(range(count))
    assert having(team, OFTEN, EVERYWHERE) == list(range(0, count, 3))
    for number in (0, 1023, 1024, LARGE.runs - 1, LARGE.runs, count - 41, count - 1):
        assert having(team, code_of(number), EVERYWHERE) == [number]
    assert having(team, code_of(count)) == []


def test_everything_is_found_between_any_two_commits(team: Team) -> None:
    place = fill(team, SMALL.runs)
    for _ in blocks_merge(place):
        assert having(team, EVERYWHERE, OFTEN) == list(range(0, SMALL.runs, 3))
        assert having(team, code_of(77)) == [77]


@pytest.mark.parametrize("merged", [0, 3, 8])
def test_erased_run_leaves_nothing_on_any_level(team: Team, merged: int) -> None:
    """Erase it when so many commits of a merge are done."""
    number = 77
    place = fill(team, SMALL.runs + 5)
    steps = blocks_merge(place)
    for _ in range(merged):
        next(steps)
    erase(team, {number})
    assert list(steps) == ([0] if merged < 8 else []), "the merge has read it before"
    place.refresh_from_db()
    for _ in blocks_merge(place):
        pass
    assert levels(team)[0] == 1
    assert number not in having(team, EVERYWHERE)
    assert having(team, code_of(number)) == []
    assert len(having(team, EVERYWHERE)) == SMALL.runs + 4
    for codes in codes_stored(team):
        assert code_of(number) not in codes


def test_many_erased_runs_leave_the_others(team: Team) -> None:
    place = fill(team, 2 * SMALL.runs + 20)
    for _ in blocks_merge(place):
        pass
    gone = {0, 5, 1023, 1024, 2 * SMALL.runs, 2 * SMALL.runs + 19}
    erase(team, gone)
    left = sorted(set(range(2 * SMALL.runs + 20)) - gone)
    assert having(team, EVERYWHERE) == left


def test_row_without_words_is_deleted(team: Team) -> None:
    SearchBlock.objects.bulk_create(new_blocks(team.id, 0, [codes_of(0)]))
    SearchProgress.objects.create(team=team, from_seq=0, through_seq=1, runs=1)
    erase(team, {0})
    assert not SearchBlock.objects.for_team(team.id).exists()


def test_second_process_that_merges_the_same_changes_nothing(team: Team) -> None:
    place = fill(team, SMALL.runs)
    slow = blocks_merge(place)
    next(slow)
    for _ in blocks_merge(place):
        pass
    rows = rows_of(team)
    assert list(slow) == [0], "it sees that it came too late"
    assert rows_of(team) == rows


def test_postings_come_back_as_they_went(team: Team) -> None:
    dice = new_dice()
    words = {
        dice.getrandbits(64): sorted(dice.sample(range(LARGE.runs), k=size))
        for size in (1, 2, 50, MAX_LISTED, MAX_LISTED + 1, LARGE.runs)
    }
    row = postings_packed(words)
    assert postings_unpacked(row) == words
    for code, offsets in words.items():
        assert offsets_in(bitmap_of(row, [code])) == offsets
        assert bitmap_of(row, [code ^ 1]) == 0
    gone: dict[int, list[int]] = {}
    for code, (offset, *_) in words.items():
        gone.setdefault(offset, []).append(code >> PREFIX_BITS)
    left = {code: rest for code, (_, *rest) in words.items() if rest}
    assert postings_unpacked(postings_without(row, gone)) == left


def test_merged_rows_have_the_postings_of_each() -> None:
    rows = [(0, postings_packed({1: [0, 3], 2: [1]})), (4, postings_packed({1: [2]}))]
    assert postings_merged(rows) == {1: [0, 3, 6], 2: [1]}


def erase(team: Team, numbers: Sequence[int] | set[int]) -> None:
    prefixes = {n: [code >> PREFIX_BITS for code in codes_of(n)] for n in numbers}
    SearchProgress.objects.for_team(team.id).update(erasures=1)
    words_erase(team.id, prefixes)


def rows_of(team: Team) -> set[tuple[int, int, int, bytes]]:
    rows = SearchBlock.objects.for_team(team.id)
    values = rows.values_list("level", "bucket", "block", "postings")
    return {(*key, bytes(postings)) for *key, postings in values}  # type: ignore[misc]


def codes_stored(team: Team) -> Iterator[set[int]]:
    for row in SearchBlock.objects.for_team(team.id):
        yield set(postings_unpacked(bytes(row.postings)))


def test_other_teams_rows_stay(team: Team) -> None:
    other = Team.objects.create(name="Other", slug="other")
    for each in (team, other):
        fill(each, 3)
    erase(team, {0})
    assert having(other, EVERYWHERE) == [0, 1, 2]
    assert having(team, EVERYWHERE) == [1, 2]
