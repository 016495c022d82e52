"""What the playground says about the cost before a run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from apps.engine.events import RunCreated
from apps.runs.types import Estimate, RecordedEvent
from tests.factories import PoolFactory, PriceFactory
from tests.playground.conftest import record_run
from tests.playground.stories import finished

ESTIMATE = "/playground/estimate/"
ROUGH = re.compile(
    r"Estimated cost: typically under \$(?P<typical>[\d.]+), "
    r"at most \$(?P<most>[\d.]+)\."
)
LIKE_PAST = (
    "Estimated cost: typically under $0.01, at most $0.09, from the last 10 runs."
)
ASKED = {"prompt": "What is a prime number?", "tier": "ultra"}


@pytest.fixture
def pool(team):
    return PoolFactory.create(team=team, workers=("alpha", "beta"))


@pytest.fixture
def priced(pool):
    for place in pool.places.all():
        PriceFactory.create(worker=place.worker)
    PriceFactory.create(team=pool.team, worker=None, conductor=pool.conductor)


def text(browser, **fields: str) -> str:
    answer = browser.post(ESTIMATE, {**ASKED, **fields})
    assert answer.status_code == 200, answer.content
    said: str = answer.json()["text"]
    return said


def rough(browser, **fields: str) -> dict[str, float]:
    """Return the dollars of an estimate from prices."""
    found = ROUGH.fullmatch(text(browser, **fields))
    assert found, text(browser, **fields)
    return {name: float(dollars) for name, dollars in found.groupdict().items()}


def test_prices_give_the_most_and_what_is_typical(bob, priced):
    said = rough(bob)
    assert said["typical"] < said["most"]


def test_the_cost_limit_bounds_the_estimate(bob, priced):
    assert text(bob, max_cost="0.01") == "Estimated cost: under $0.01."


def test_fewer_steps_cost_less(bob, priced):
    assert rough(bob, max_steps="1")["most"] < rough(bob)["most"]


def test_the_whole_conversation_counts(bob, team, priced):
    short = record_run(team, finished())
    long = record_run(team, asked("word " * 100_000))
    little, much = (rough(bob, run=str(run.id)) for run in (short, long))
    assert little["most"] < much["most"]


def asked(prompt: str) -> list[RecordedEvent]:
    """Return a finished run that was asked something else."""
    first, *rest = finished()
    assert isinstance(first.event, RunCreated)
    return [replace(first, event=replace(first.event, prompt=prompt)), *rest]


def test_a_missing_price_makes_it_unknown(bob, pool):
    assert text(bob) == "Cost unknown: a model of this pool has no price."


def test_enough_past_runs_are_better_than_prices(bob, team, priced):
    for cost in range(1000, 11_000, 1000):
        record_run(team, finished(), cost_micros=cost)
    assert text(bob) == LIKE_PAST


def test_runs_of_other_teams_say_nothing(bob, mallory, priced):
    from apps.accounts.models import Team

    other = Team.objects.exclude(pools__isnull=False).get()
    for _ in range(10):
        record_run(other, finished(), cost_micros=77)
    assert "from the last" not in text(bob)


def test_one_worker_costs_less_than_a_plan(bob, priced, team):
    from apps.runs.selectors import run_estimate

    plan, alone = (
        run_estimate(team.id, model, "Why?")
        for model in ("conductor-ultra", "worker/beta")
    )
    assert isinstance(plan, Estimate) and alone.high_micros < plan.high_micros


def test_the_page_has_a_place_for_it(bob, priced):
    assert 'data-url="/playground/estimate/"' in bob.get("/").content.decode()


def test_viewer_is_refused(vera, priced):
    assert vera.post(ESTIMATE, ASKED).status_code == 403


def test_anonymous_signs_in_first(client, db):
    assert client.post(ESTIMATE, ASKED)["Location"].startswith("/accounts/login/")


def test_a_foreign_pool_is_no_choice(mallory, priced, pool):
    assert mallory.post(ESTIMATE, {**ASKED, "pool": pool.name}).status_code == 400


def test_a_blank_prompt_is_refused(bob, priced):
    assert bob.post(ESTIMATE, {**ASKED, "prompt": " "}).status_code == 400
