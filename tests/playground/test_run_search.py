"""Search in prompts and answers, on the list of runs."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.audit.services import content_erase
from apps.core.ids import new_id
from apps.engine.events import RunCompleted
from apps.engine.usage import Usage
from apps.runs.models import IndexedRun, Run, RunState, SearchBlock, SearchProgress
from apps.runs.search import indexing, matching
from apps.runs.search.postings import postings_unpacked
from apps.runs.search.run_texts import texts_of_runs
from apps.runs.services import run_texts_erase
from tests.factories import issue_key
from tests.playground import stories
from tests.playground.conftest import ALICE, record_run

URL = "/runs/"


def asked(team: Team, prompt: str, answer: str = "Done.", **fields: Any) -> Run:
    """Record a run of one worker with this prompt and answer."""
    usage = Usage(10, 5)
    told = stories.Recording().at(0, stories.created(prompt))
    told.at(10, stories.accepted((), planner="direct"), stories.started(0, "gpt-5"))
    told.at(20, stories.completed(0, "gpt-5", answer))
    told.at(20, RunCompleted(answer, "stop", usage, 7, False, 20, 1))
    return record_run(team, told.entries, **fields)


def index() -> None:
    call_command("runs_index", stdout=StringIO())


def search(client: Client, query: str, **more: str) -> tuple[list[str], str]:
    """Return the ids that a search lists, and the page."""
    page = client.get(URL, {"q": query, **more}).content.decode()
    return re.findall(r'data-run-id="([0-9a-f-]+)"', page), page


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize(
    "query",
    [
        "zebra",
        "ZEBRA stripes",
        "paris",  # the answer alone
        '"Zebra has  stripes"',
        "“capital is Paris”",
    ],
)
def test_word_of_a_prompt_or_an_answer_finds_its_run(
    bob: Client, team: Team, query: str, is_indexed: bool
) -> None:
    found = asked(
        team, "x " * 300 + "Why the zebra has stripes?", "The capital is Paris."
    )
    asked(team, "Has a horse stripes?", "No.")
    if is_indexed:
        index()
    assert search(bob, query)[0] == [str(found.id)]


@pytest.mark.parametrize("is_indexed", [True, False])
@pytest.mark.parametrize("query", ["zebra horse", '"stripes has"', "zebr", "unheard"])
def test_run_without_all_of_it_is_not_found(
    bob: Client, team: Team, query: str, is_indexed: bool
) -> None:
    asked(team, "Why the zebra has stripes?")
    if is_indexed:
        index()
    ids, page = search(bob, query)
    assert ids == []
    assert "No run contains" in page
    assert "All prompts and answers" in page


def test_words_may_be_of_the_prompt_and_of_the_answer(bob: Client, team: Team) -> None:
    found = asked(team, "Which city?", "Oslo")
    index()
    assert search(bob, "oslo city")[0] == [str(found.id)]


def test_answer_of_a_step_is_found(bob: Client, team: Team) -> None:
    told = stories.finished()
    run = record_run(team, told)
    index()
    assert search(bob, "prototypes")[0] == [str(run.id)]


@pytest.mark.parametrize("query", ["京都", "都", "東京都", '"京都に"'])
def test_part_of_a_text_without_spaces_is_found(
    bob: Client, team: Team, query: str
) -> None:
    found = asked(team, "東京都に行きますか")
    asked(team, "大阪に行きます")
    index()
    assert search(bob, query)[0] == [str(found.id)]


def test_search_and_filters_hold_together(bob: Client, team: Team) -> None:
    asked(team, "A zebra?")
    failed = asked(team, "A zebra again?", state=RunState.FAILED)
    index()
    assert search(bob, "zebra", state="failed")[0] == [str(failed.id)]


def test_matches_come_newest_first(bob: Client, team: Team) -> None:
    runs = [asked(team, f"A zebra, number {n}?") for n in range(3)]
    index()
    runs.append(asked(team, "A zebra that is not indexed yet?"))
    assert search(bob, "zebra")[0] == [str(run.id) for run in reversed(runs)]


def test_other_team_finds_nothing(bob: Client, mallory: Client, team: Team) -> None:
    asked(team, "Why the zebra has stripes?")
    index()
    assert search(mallory, "zebra")[0] == []


def test_teams_have_no_code_in_common(team: Team) -> None:
    other = Team.objects.create(name="Other", slug="other")
    for each in (team, other):
        asked(each, "The very same words?")
    index()
    codes = [
        set(postings_unpacked(bytes(row.postings)))
        for each in (team, other)
        for row in SearchBlock.objects.for_team(each.id)
    ]
    assert len(codes) == 2
    assert codes[0]
    assert codes[0].isdisjoint(codes[1])


def test_index_holds_no_word(team: Team) -> None:
    run = asked(team, "Why the zebra has stripes?")
    index()
    row = IndexedRun.objects.for_team(team.id).get(run_id=run.id)
    assert b"zebra" not in bytes(row.words)
    assert len(bytes(row.words)) == 4 * len(
        {"why", "the", "zebra", "has", "stripes", "done"}
    )
    (block,) = SearchBlock.objects.for_team(team.id)
    assert b"zebra" not in bytes(block.postings)


def test_query_without_a_word_says_so(bob: Client, team: Team) -> None:
    asked(team, "Why?")
    assert "Type letters or digits to search for." in search(bob, "?!")[1]


def test_erased_run_is_not_found_and_leaves_no_code(bob: Client, team: Team) -> None:
    run, other = asked(team, "A zebra?"), asked(team, "Another zebra?")
    index()
    erase(run)
    assert search(bob, "zebra")[0] == [str(other.id)]
    (row,) = SearchBlock.objects.for_team(team.id)
    number = IndexedRun.objects.for_team(team.id).get(run_id=other.id).number
    offsets = postings_unpacked(bytes(row.postings)).values()
    assert {row.block + each for some in offsets for each in some} == {number}
    assert bytes(IndexedRun.objects.for_team(team.id).get(run_id=run.id).words) == b""


def test_text_erased_while_it_is_indexed_is_not_written(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = asked(team, "A zebra?")
    read = texts_of_runs

    def erased_meanwhile(runs: Any) -> Any:
        texts = list(read(runs))
        if any(each for _, each in texts):
            erase(run)
        return iter(texts)

    monkeypatch.setattr(indexing, "texts_of_runs", erased_meanwhile)
    index()
    assert not SearchBlock.objects.for_team(team.id).exists()


def test_index_made_again_finds_the_same(bob: Client, team: Team) -> None:
    run = asked(team, "A zebra?")
    index()
    call_command("runs_index", "--again", stdout=StringIO())
    assert search(bob, "zebra")[0] == [str(run.id)]


def test_run_indexed_under_an_older_key_is_found(
    bob: Client, team: Team, settings: Any
) -> None:
    run = asked(team, "A zebra?")
    index()
    added = "newer:" + "A" * 43 + "="
    settings.ENCRYPTION_KEYS = [added, *settings.ENCRYPTION_KEYS]
    assert search(bob, "zebra")[0] == [str(run.id)]


def test_older_runs_that_are_not_indexed_are_named(
    bob: Client, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "ENTRIES_AT_ONCE", 6)
    monkeypatch.setattr(matching, "RUNS_READ", 1)
    old = asked(team, "An old zebra?")
    for _ in range(3):
        asked(team, "A horse?")
    steps = indexing.runs_index()
    next(steps)
    ids, page = search(bob, "zebra")
    assert ids == []
    assert "are not indexed yet and were not searched" in page
    assert "Not all runs were searched" in page
    assert sum(steps) > 0
    ids, page = search(bob, "zebra")
    assert ids == [str(old.id)]
    assert "not indexed yet" not in page
    assert SearchProgress.objects.for_team(team.id).get().from_seq == 0


def test_new_runs_that_were_not_read_are_named(
    bob: Client, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "RUNS_READ", 1)
    asked(team, "A zebra?")
    asked(team, "A horse?")
    ids, page = search(bob, "zebra")
    assert ids == []
    assert "still being indexed" in page


def test_run_with_more_words_than_the_index_takes_is_read(
    bob: Client, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "MOST_WORDS", 3)
    runs = [asked(team, f"one two three zebra{n}") for n in range(2)]
    index()
    assert search(bob, "zebra0 one")[0] == [str(runs[0].id)]
    monkeypatch.setattr(matching, "LONG_RUNS_READ", 1)
    assert "all words were searched only in the newest" in search(bob, "zebra0")[1]


def test_phrase_that_was_not_looked_for_everywhere_is_named(
    bob: Client, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "PHRASES_CHECKED", 1)
    asked(team, "red zebra")
    asked(team, "zebra red")
    index()
    ids, page = search(bob, '"red zebra"')
    assert ids == []
    assert "The phrase was looked for in the newest" in page


@pytest.mark.parametrize("walk_from", [0, 1_000])
def test_more_matches_than_are_listed_are_named(
    bob: Client, team: Team, monkeypatch: pytest.MonkeyPatch, walk_from: int
) -> None:
    """Whether all runs are gone through, or those with the words are looked up."""
    monkeypatch.setattr(matching, "MATCHES", 1)
    monkeypatch.setattr(matching, "WALK_FROM", walk_from)
    asked(team, "red zebra")
    newest = asked(team, "zebra red")
    failed = asked(team, "red zebras, or a red zebra?", state=RunState.FAILED)
    asked(team, "red horse")
    index()
    ids, page = search(bob, "red zebra", state="completed")
    assert ids == [str(newest.id)]
    assert "of the runs found are listed" in page
    ids, page = search(bob, "red zebra", state="failed")
    assert ids == [str(failed.id)]
    assert "of the runs found are listed" not in page


def test_step_of_the_job_is_a_short_commit(team: Team) -> None:
    """Of thirty runs at most, in three statements, whatever there is to index."""
    for number in range(35):
        asked(team, f"Run {number}?")
    steps = indexing.runs_index()
    sizes = []
    with CaptureQueriesContext(connection) as queries:
        for size in steps:
            sizes.append(size)
    assert sum(sizes) == 35
    assert max(sizes) <= 30
    written = [
        query["sql"].split()[0]
        for query in queries.captured_queries
        if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))
    ]
    assert len(written) <= 3 * len(sizes) + 1


def test_run_takes_three_rows_of_the_index_at_most(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one for each word, even if each is indexed alone as soon as it has ended."""
    for number in range(3):
        asked(team, " ".join(f"word{number}x{n}" for n in range(45)))
        index()
    rows = [
        model.objects.for_team(team.id).count()
        for model in (IndexedRun, SearchBlock, SearchProgress)
    ]
    assert sum(rows) <= 3 * 3


def test_run_that_cannot_be_read_is_named(bob: Client, team: Team) -> None:
    run = asked(team, "A zebra?")
    Run.objects.for_team(team.id).filter(id=run.id).update(state=RunState.RUNNING)
    broken = Entry.objects.for_team(team.id).filter(subject_id=run.id)
    broken.update(canonical=b"{}")
    ids, page = search(bob, "zebra")
    assert ids == []
    assert "cannot be read" in page
    index()
    assert "cannot be read" in search(bob, "zebra")[1]


def test_rest_finds_the_same_and_names_what_it_did_not_search(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Client(headers={"authorization": f"Bearer {issue_key(team).secret}"})
    run = asked(team, "A zebra?")
    index()
    answer = program.get("/api/v1/runs/", {"query": "zebra"})
    assert [each["id"] for each in answer.json()["data"]] == [str(run.id)]
    assert "Search-Gaps" not in answer
    monkeypatch.setattr(matching, "RUNS_READ", 1)
    asked(team, "A horse?")
    asked(team, "Another horse?")
    answer = program.get("/api/v1/runs/", {"query": "zebra"})
    assert answer["Search-Gaps"] == "newest"


def test_ids_of_other_things_are_ignored_when_texts_are_erased(team: Team) -> None:
    run_texts_erase(team.id, [new_id()])


def erase(run: Run) -> None:
    """Erase the texts of a run, as retention does."""
    places = [
        (entry.seq, name)
        for entry in entry_list(run.team_id, subject_id=run.id)
        for name in entry.bodies
    ]
    run_texts_erase(run.team_id, [run.id])
    content_erase(team_id=run.team_id, places=places, actor=ALICE, reason="over")
