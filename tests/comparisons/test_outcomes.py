"""What the votes and the judge of a comparison come to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps.comparisons.models import ComparisonJudgement, ComparisonVote
from apps.runs.models import Run
from tests.comparisons.conftest import kept_comparison, signed_in
from tests.factories import PoolFactory
from tests.playground import stories
from tests.playground.conftest import record_run
from tests.rest.conftest import member

A, B, TIE, NONE = ("better", 0), ("better", 1), ("tie", None), ("none", None)


def cast_votes(comparison, *votes) -> None:
    ComparisonVote.objects.bulk_create(
        ComparisonVote(
            comparison=comparison,
            actor_type="user",
            actor_id=str(number),
            actor_name=f"Voter {number}",
            choice=choice,
            position=position,
            entry_seq=1,
            is_blind=False,
        )
        for number, (choice, position) in enumerate(votes)
    )


@pytest.mark.parametrize(
    ("votes", "preferred", "said"),
    [
        ([A, *[NONE] * 9], None, "None of the answers is good, by the votes."),
        ([A, A, TIE, TIE, TIE], None, "No answer is better than the others"),
        ([A, B], None, "No answer is better than the others"),
        ([A, TIE], None, "No answer is better than the others"),
        ([B, B, A, TIE, NONE], "B", "is better, by 2 of 5 votes."),
    ],
)
def test_answer_is_preferred_by_most_of_all_votes(
    cast, recorded, votes, preferred, said
):
    comparison = recorded()
    cast_votes(comparison, *votes)
    path = f"comparisons/{comparison.id}/"
    assert member(cast.bob).get(path).json()["preferred"] == preferred
    assert said in signed_in(cast.bob).get(f"/{path}").content.decode()


def test_judge_that_decides_by_the_order_decides_nothing(cast, recorded):
    comparison = recorded()
    runs = [each.run_id for each in comparison.answers.all()]
    ComparisonJudgement.objects.create(
        comparison=comparison,
        worker="worker/beta",
        actor_name="Bob",
        run_id=runs[0],
        reversed_run_id=runs[1],
        positions=[0, 1],
        state="split",
    )
    page = signed_in(cast.bob).get(f"/comparisons/{comparison.id}/").content.decode()
    assert "The judge decides by the order of the answers" in page
    assert "No verdict yet" not in page


def test_judge_compares_no_answers_to_different_prompts(cast):
    PoolFactory(team=cast.team, workers=("beta",))
    other = stories.finished()
    other[0] = replace(other[0], event=stories.created("Which editor?"))
    runs = [record_run(cast.team, each) for each in (stories.finished(), other)]
    comparison = kept_comparison(cast, runs, is_blind=False)
    assert not comparison.has_same_prompt
    path = f"comparisons/{comparison.id}/"
    answer = member(cast.bob).post(f"{path}judge/", {})
    assert answer.status_code == 409
    assert "different prompts" in answer.content.decode()


@pytest.mark.parametrize("author", ["gpt-5", "gemini-2.5-pro"])
def test_no_worker_judges_its_own_answer(cast, recorded, author):
    """One was asked directly, under another name; one wrote the end of a plan."""
    PoolFactory(team=cast.team, workers=("gpt-5", "gemini-2.5-pro", "beta"))
    comparison = recorded(models=("conductor-ultra", "other/worker/gpt-5"))
    path = f"/comparisons/{comparison.id}/"
    bob = signed_in(cast.bob)
    page = bob.get(path).content.decode()
    assert 'value="worker/beta"' in page
    assert f'value="worker/{author}"' not in page
    answer = bob.post(f"{path}judge/", {"judge": f"worker/{author}"}, follow=True)
    assert "cannot judge here" in answer.content.decode()


def test_comparison_without_its_runs_is_not_there(cast, recorded):
    comparison = recorded()
    cast_votes(comparison, B)
    ids = [each.run_id for each in comparison.answers.all()]
    bob, path = signed_in(cast.bob), f"/comparisons/{comparison.id}/"
    rows = Run.objects.for_team(cast.team.id)
    rows.filter(id=ids[1]).delete()
    assert bob.get(path).status_code == 200
    rows.filter(id=ids[0]).delete()
    assert bob.get(path).status_code == 404


def test_names_of_workers_that_are_gone_are_hidden_too(cast):
    """The team has no workers any more; the runs still name theirs."""
    texts = ("I am gpt-5.", "Ask o3.")
    plans = ([{"worker": "gpt-5", "access": []}], [{"worker": "o3", "access": []}])
    runs = [
        record_run(cast.team, stories.answered(text), plan=plan)
        for text, plan in zip(texts, plans, strict=True)
    ]
    comparison = kept_comparison(cast, runs, is_blind=True)
    path = f"comparisons/{comparison.id}/"
    shown = [each["answer"] for each in member(cast.bob).get(path).json()["answers"]]
    assert shown == ["I am [hidden].", "Ask [hidden]."]
    page = signed_in(cast.bob).get(f"/{path}").content.decode()
    assert "gpt-5" not in page
