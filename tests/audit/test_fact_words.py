"""What the facts of an entry are called, and in what units they are shown."""

from __future__ import annotations

import pytest

from apps.audit.browsing.fact_words import differences_of, facts_of, summary_of

RUN = "01a21943-e65f-7000-b878-bf2afb1c3326"
DIGEST = "sha256:" + "9f" * 32


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"cost_micros": 1_234_500}, ("cost", "$1.2345")),
        ({"limits": {"max_cost_micros": 5}}, ("limits › max cost", "$0.000005")),
        ({"cost_micros": None}, ("cost", "nothing")),
        ({"expires_at": "2026-11-24T10:05:00.123456Z"}, None),
        ({"labels": {}}, ("labels", "none")),
        ({"has_plan": True}, ("has plan", "yes")),
    ],
)
def test_facts_are_in_words_and_units(data, shown):
    assert facts_of(data) == [shown or ("expires at", "2026-11-24 10:05 UTC")]


def test_changes_are_named_like_facts():
    before, after = ({"max_cost_micros": value} for value in (None, 50_000))
    (change,) = differences_of({"before": before, "after": after})
    assert (change.name, change.before, change.after) == (
        "max cost",
        "nothing",
        "$0.05",
    )


def test_ids_and_digests_come_last_in_a_summary():
    data = {"run_id": RUN, "digest": DIGEST, "rating": "up", "is_blind": False}
    said = summary_of(data)
    assert said == f"rating: up; is blind: no; run id: {RUN}; 1 more"
