"""What the playground says about the cost before a run."""

from __future__ import annotations

import pytest

from apps.runs.types import Estimate
from tests.factories import PoolFactory, PriceFactory
from tests.playground.conftest import record_run
from tests.playground.stories import finished

ESTIMATE = "/playground/estimate/"
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


def test_prices_give_a_range(bob, priced):
    assert text(bob).startswith("About $0.00")
    assert text(bob).endswith("by the prices of the pool.")


def test_a_missing_price_makes_it_unknown(bob, pool):
    assert text(bob) == "Cost unknown: a model of this pool has no price."


def test_enough_past_runs_are_better_than_prices(bob, team, priced):
    for cost in range(1000, 11_000, 1000):
        record_run(team, finished(), cost_micros=cost)
    assert text(bob) == "About $0.0014 to $0.0095, by the last 10 runs."


def test_runs_of_other_teams_say_nothing(bob, mallory, priced):
    from apps.accounts.models import Team

    other = Team.objects.exclude(pools__isnull=False).get()
    for _ in range(10):
        record_run(other, finished(), cost_micros=77)
    assert "prices" in text(bob)


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
