"""What a right answer is worth, as teams set it and runs explain it."""

from __future__ import annotations

from typing import Any

import pytest

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.evaluation.systems.base import PoolNames
from apps.evaluation.systems.light_planner import LightPlannerSystem
from apps.pools.models import Pool
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.services import planner_use
from tests.conftest import Site
from tests.factories import ACTOR
from tests.patience import eventually
from tests.planners.light.builders import SOLVE, model, run, step
from tests.rest.conftest import Caller, member, program
from tests.runs.starting import order
from tests.runs.starting import run as conducted
from tests.training.light_pools import NAMES
from tests.training.test_interfaces import browser

QUESTION = "Compute 12 * 7."
GOOD, DEARER = "sim-delta", "sim-birch"
BY_HAND = model(
    *[run(step(GOOD, SOLVE, [], 1))] * 54,
    *[run(step(GOOD, SOLVE, [], 0))] * 6,
    *[run(step(DEARER, SOLVE, [], 1))] * 60,
    names=NAMES,
)
"""The dearer worker is right ten points more often."""


def planned_pool(site: Site, worth_micros: int | None = 20_000) -> Pool:
    """Let tier mini plan with a version that was made by hand."""
    pool: Pool = site.cast.team.pools.get(is_default=True)
    fit = PlannerFit(500, 900, 2, NAMES, "0" * 64, answer_worth_micros=worth_micros)
    planner_version_add(pool=pool, stored=BY_HAND.to_bytes(), fit=fit, actor=ACTOR)
    return planner_use(
        pool=pool, number=1, tiers=["mini"], actor=ACTOR, reason="For a test."
    )


def priced(alice: Caller, pool: Pool, name: str, usd: str) -> None:
    worker = pool.workers.get(name=name)
    price = {"input_usd": usd, "output_usd": usd}
    answer = alice.patch(f"workers/{worker.id}/", {"price": price})
    assert answer.status_code == 200, answer.json()


def explained(site: Site) -> dict[str, Any]:
    """Return how a new run explains its plan."""
    ran = conducted(order(site.cast, QUESTION, model="conductor-mini")).summary.run_id
    (why,) = program(site.key).get(f"runs/{ran}/").json()["explanations"]
    return dict(why)


def worker_of(why: dict[str, Any]) -> str:
    return str(why["chosen"]["steps"][0]["worker"])


def dollars(text: str) -> float:
    return float(text)


def test_a_worker_whose_price_rises_50_fold_is_planned_with_no_more(site: Site):
    pool, alice = planned_pool(site), member(site.cast.alice)
    priced(alice, pool, GOOD, "0.5")
    priced(alice, pool, DEARER, "1")
    before = explained(site)
    priced(alice, pool, DEARER, "50")
    after = explained(site)
    assert (worker_of(before), worker_of(after)) == (DEARER, GOOD)
    assert dollars(after["chosen"]["cost_usd"]) <= dollars(before["chosen"]["cost_usd"])
    assert before["answer_worth_usd"] == after["answer_worth_usd"] == "0.02"


def test_a_tier_says_what_a_right_answer_is_worth(site: Site):
    pool, alice = planned_pool(site), member(site.cast.alice)
    priced(alice, pool, GOOD, "0.5")
    priced(alice, pool, DEARER, "1")
    tiers = {"mini": {"answer_worth_usd": "0.0005"}}
    shown = alice.patch(f"pools/{pool.id}/", {"tiers": tiers}, if_match="*").json()
    assert shown["tiers"]["mini"]["answer_worth_usd"] == "0.0005"
    why = explained(site)
    assert (worker_of(why), why["answer_worth_usd"]) == (GOOD, "0.0005")


def test_with_the_highest_worth_cost_does_not_count(site: Site):
    pool, alice = planned_pool(site), member(site.cast.alice)
    priced(alice, pool, GOOD, "0")
    priced(alice, pool, DEARER, "9000")
    tiers = {"mini": {"answer_worth_usd": "10000"}}
    alice.patch(f"pools/{pool.id}/", {"tiers": tiers}, if_match="*")
    why = explained(site)
    assert (worker_of(why), why["answer_worth_usd"]) == (DEARER, None)


def test_a_version_from_before_there_were_worths_goes_by_the_dearest_worker(site):
    pool, alice = planned_pool(site, None), member(site.cast.alice)
    priced(alice, pool, GOOD, "1")
    priced(alice, pool, DEARER, "2")
    why = explained(site)
    dearest = max(dollars(each["cost_usd"]) for each in why["alone"])
    assert dollars(why["answer_worth_usd"]) == pytest.approx(25 * dearest, rel=0.01)


def test_nothing_and_less_are_no_worth(site: Site):
    pool, alice = planned_pool(site), member(site.cast.alice)
    for wrong in ("0", "-1", "10001"):
        tiers = {"mini": {"answer_worth_usd": wrong}}
        answer = alice.patch(f"pools/{pool.id}/", {"tiers": tiers}, if_match="*")
        assert answer.status_code == 400
        assert "tiers.mini.answer_worth_usd" in str(answer.json())


def named(short_name: str) -> dict[str, Any]:
    """Return the one system of a short name."""
    pool = PoolNames((GOOD, DEARER), 5)
    found = LightPlannerSystem.named(short_name.split(":"), pool)
    assert found is not None
    (system,) = found
    return system


def test_an_evaluation_names_a_worth_in_dollars():
    system = values_read(LightPlannerSystem, named("light:2:0.05"))
    assert system.answer_worth_micros == 50_000
    assert system.label == "light planner (version 2, a right answer for $0.05)"
    with pytest.raises(InvalidFields) as caught:
        values_read(LightPlannerSystem, named("light:2:much"))
    assert list(caught.value.fields) == ["answer_worth_micros"]


def test_the_form_of_a_pool_shows_what_the_planner_was_trained_with(site: Site):
    pool = planned_pool(site)
    alice = browser(site.cast.alice)
    page = alice.get(f"/pools/{pool.id}/").content.decode()
    assert "A right answer is worth, $" in page
    assert "as in the planner&#x27;s training, $0.02" in page


def test_the_page_of_a_run_says_what_a_right_answer_is_worth(site: Site):
    planned_pool(site)
    ran = conducted(order(site.cast, QUESTION, model="conductor-mini")).summary.run_id
    vera = browser(site.cast.vera)
    assert eventually(
        lambda: (
            "A right answer is worth $0.0200:"
            in vera.get(f"/runs/{ran}/").content.decode()
        )
    )
