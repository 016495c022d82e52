"""Results by candidate: which votes count, and who may know them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.comparisons.selectors import candidate_votes
from tests.comparisons.conftest import MODELS, kept_comparison, signed_in
from tests.factories import ACTOR, PoolFactory, WorkerFactory
from tests.playground import stories
from tests.playground.conftest import record_run
from tests.rest.conftest import member

RESULTS = "comparisons/candidates/"


def vote(user, comparison, choice: str = "better-A") -> None:
    place = f"/comparisons/{comparison.id}/vote/"
    signed_in(user).post(place, {"choice": choice})


def results(user) -> dict[str, tuple[int, int, int]]:
    rows = member(user).get(RESULTS).json()["data"]
    return {r["model"]: (r["votes"], r["preferred"], r["blind"]) for r in rows}


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_blind_votes_of_others_are_hidden_until_the_vote(cast, recorded, who):
    comparison, user = recorded(is_blind=True), getattr(cast, who)
    vote(cast.alice, comparison)
    assert results(user) == {}
    page = signed_in(user).get("/comparisons/").content.decode()
    assert MODELS[0] not in page
    assert results(cast.alice) == {MODELS[0]: (1, 1, 1), MODELS[1]: (1, 0, 1)}
    vote(user, comparison)
    assert results(user) == {MODELS[0]: (2, 2, 2), MODELS[1]: (2, 0, 2)}


def test_vote_changed_after_the_reveal_is_not_blind(cast, recorded):
    comparison = recorded(is_blind=True)
    vote(cast.alice, comparison)
    vote(cast.alice, comparison, "better-B")
    assert results(cast.alice) == {MODELS[0]: (1, 0, 0), MODELS[1]: (1, 1, 0)}


def test_votes_on_different_prompts_and_on_twins_do_not_count(cast, recorded):
    vote(cast.alice, recorded(models=(MODELS[0], MODELS[0])))
    other = stories.finished()
    other[0] = replace(other[0], event=stories.created("Which editor?"))
    runs = [
        record_run(cast.team, story, model=model)
        for story, model in zip((stories.finished(), other), MODELS, strict=True)
    ]
    vote(cast.alice, kept_comparison(cast, runs, is_blind=False))
    assert results(cast.alice) == {}


def test_candidates_that_had_one_name_are_told_apart(cast, recorded):
    former = WorkerFactory.create(team=cast.team, name="gpt-5")
    vote(cast.alice, recorded(), "better-B")
    former.name = "gpt-5-old"
    former.save(update_fields=["name"])
    WorkerFactory.create(team=cast.team, name="gpt-5")
    vote(cast.alice, recorded())
    rows = member(cast.alice).get(RESULTS).json()["data"]
    found = {(r["preferred"], r["is_former"]) for r in rows if r["model"] == MODELS[1]}
    assert found == {(1, True), (0, False)}
    page = signed_in(cast.alice).get("/comparisons/").content.decode()
    assert page.count("gpt-5 (former)") == 1


def test_two_names_of_one_candidate_are_one_row(cast, recorded):
    PoolFactory.create(team=cast.team, name="main", is_default=True)
    vote(cast.alice, recorded(models=("conductor-ultra", "worker/gpt-5")))
    vote(cast.alice, recorded(models=("main/ultra", "worker/gpt-5")))
    assert results(cast.alice)["main/ultra"] == (2, 2, 0)


def test_candidate_has_the_name_that_it_was_compared_by_last(cast, recorded):
    PoolFactory.create(team=cast.team, name="main", is_default=True)
    vote(cast.alice, recorded(models=("conductor-ultra", "worker/gpt-5")))
    recorded(models=("main/ultra", "worker/gpt-5"))
    (first, second) = candidate_votes(cast.team.id, ACTOR)
    assert (first.model, second.model) == ("main/ultra", "worker/gpt-5")


def test_results_take_as_many_queries_for_many_comparisons(
    cast, recorded, recorded_queries
):
    for _ in range(3):
        vote(cast.alice, recorded())
    with recorded_queries():
        rows = candidate_votes(cast.team.id, ACTOR)
    assert {each.model: each.votes for each in rows} == dict.fromkeys(MODELS, 3)
