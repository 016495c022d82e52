"""What the votes and the judge of a comparison come to."""

from __future__ import annotations

import pytest

from apps.comparisons.models import ComparisonVote
from tests.comparisons.conftest import signed_in
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
