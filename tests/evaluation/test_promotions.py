"""Candidates of every kind are promoted, and taken back; or refused with a reason."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from apps.accounts.models import Scope
from apps.core.errors import Conflict
from apps.engine.events import RunCreated
from apps.evaluation.models import ShadowTest
from apps.evaluation.promotions.promotion import (
    candidate_demote,
    candidate_promote,
    promotion_of,
    why_not_demotable,
    why_not_promotable,
)
from apps.evaluation.shadow.report import shadow_report
from apps.evaluation.shadow.selectors import FEWEST_PAIRS
from apps.pools.models import Pool
from apps.pools.selectors import access_pool, access_worker, pool_values, worker_values
from apps.pools.services import conductor_delete, pool_create
from apps.runs.models import Run, Source
from apps.runs.selectors import run_events, run_view
from tests.conftest import Site
from tests.console.test_evaluations import signed_in
from tests.evaluation import test_ab
from tests.evaluation.pool_changes import change_pool, change_worker, pool_now
from tests.evaluation.samples import entries_of, pairs_add
from tests.evaluation.test_shadow import alice, ask, ended, start
from tests.factories import (
    ACTOR,
    ConductorFactory,
    PriceFactory,
    WorkerFactory,
)
from tests.rest.conftest import keyed
from tests.rest.test_price_limits import limit

MINI = {"kind": "tier", "tier": "mini"}
ULTRA = {"kind": "tier", "tier": "ultra"}
DELTA = {"kind": "worker", "worker": "sim-delta"}


@pytest.fixture
def other(site: Site) -> str:
    """A conductor of the team that is in no pool."""
    team, url = site.cast.team, site.simulator_url
    row = ConductorFactory.create(
        team=team, name="other", base_url=url, model="sim-conductor"
    )
    PriceFactory.create(team=team, worker=None, conductor=row)
    return "other"


def values_now(site: Site) -> dict[str, Any]:
    return pool_values(pool_now(site.cast.team))


def worker_now(site: Site, name: str) -> dict[str, Any]:
    team = site.cast.team
    return worker_values(access_worker(team.id, team.workers.get(name=name).id))


def promoted(site: Site, **candidate: Any) -> ShadowTest:
    test = start(site, candidate=candidate)
    assert why_not_promotable(test) == ""
    candidate_promote(test=test, principal=alice(site))
    return test


def other_pool(site: Site) -> Pool:
    """A second pool of the team, of one worker of its own."""
    team, url = site.cast.team, site.simulator_url
    worker = WorkerFactory.create(
        team=team, name="sim-cedar", model="sim-cedar", base_url=url
    )
    PriceFactory.create(worker=worker)
    conductor = pool_now(team).conductor
    assert conductor is not None
    values = {
        "name": "second",
        "worker_ids": [str(worker.id)],
        "fallback_id": str(worker.id),
        "conductor_id": str(conductor.id),
        "tiers": {"ultra": {"max_steps": 3}},
    }
    return pool_create(team=team, values=values, actor=ACTOR)


def created(run: Run) -> RunCreated:
    event = run_events(run)[0].event
    assert isinstance(event, RunCreated)
    return event


def test_another_planner_is_promoted_and_taken_back(site: Site, other: str):
    before = values_now(site)
    test = start(site, candidate={**MINI, "conductor": other, "max_rounds": 2})
    assert any(
        f"The conductor of pool {pool_now(site.cast.team).name} becomes other;" in line
        and "It plans for tier ultra, too." in line
        for line in promotion_of(test)
    )
    candidate_promote(test=test, principal=alice(site))
    after = pool_now(site.cast.team)
    assert after.conductor is not None
    assert after.conductor.name == other
    assert pool_values(after)["tiers"]["mini"]["max_rounds"] == 2
    assert pool_values(after)["tiers"]["ultra"] == before["tiers"]["ultra"]
    candidate_demote(test=test, principal=alice(site))
    assert values_now(site) == before


def test_without_rounds_the_fallback_worker_alone_is_promoted(site: Site):
    before = values_now(site)
    test = promoted(site, **MINI, max_rounds=0)
    after = values_now(site)
    mini = {**before["tiers"]["mini"], "planner": "single_worker"}
    assert after == {**before, "tiers": {**before["tiers"], "mini": mini}}
    candidate_demote(test=test, principal=alice(site))
    assert values_now(site) == before


def test_a_version_of_the_pool_is_restored_and_taken_back(site: Site):
    team, first = site.cast.team, values_now(site)
    birch = str(team.workers.get(name="sim-birch").id)
    single = {"planner": "single_worker"}
    change_pool(
        team,
        worker_ids=[birch],
        fallback_id=birch,
        conductor_id=None,
        tiers={"mini": single, "ultra": None},
    )
    second = values_now(site)
    test = start(site, candidate={**MINI, "pool_version": 1})
    lines = "\n".join(promotion_of(test))
    assert "become sim-delta, sim-birch." in lines
    assert "Tier ultra is added." in lines
    candidate_promote(test=test, principal=alice(site))
    assert values_now(site) == first
    assert pool_now(team).version == 3
    candidate_demote(test=test, principal=alice(site))
    assert values_now(site) == second
    promotion, back = (
        entries_of(team, f"shadow_test.{action}")[0]
        for action in ("promoted", "demoted")
    )
    assert promotion["after"] == back["before"]
    assert promotion["after"]["fallback_id"] == first["fallback_id"]


def test_a_version_brings_back_the_models_of_its_workers(site: Site):
    team = site.cast.team
    first = worker_now(site, "sim-delta")
    other_pool(site)
    price = {"input_usd": "100", "output_usd": "200"}
    change_worker(
        team,
        "sim-delta",
        model="sim-birch",
        description="Dear.",
        tags=["eu"],
        price=price,
    )
    second, version = worker_now(site, "sim-delta"), pool_now(team).version
    test = start(site, candidate={**MINI, "pool_version": 1})
    lines = "\n".join(promotion_of(test))
    assert "Worker sim-delta: model becomes sim-delta; it is sim-birch." in lines
    assert "Worker sim-delta: price becomes input usd 1, output usd 2;" in lines
    candidate_promote(test=test, principal=alice(site))
    after = worker_now(site, "sim-delta")
    assert (after["model"], after["description"]) == ("sim-delta", "")
    assert after["tags"] == ["eu"]  # rules go by the tags of today
    assert after["price"]["input_usd"] == first["price"]["input_usd"] == "1"
    assert pool_now(team).version == version + 1
    assert len(entries_of(team, "worker.updated")) == 2
    candidate_demote(test=test, principal=alice(site))
    assert worker_now(site, "sim-delta") == second


def test_a_worker_of_an_earlier_version_is_promoted(site: Site):
    change_worker(site.cast.team, "sim-birch", model="sim-cedar")
    test = promoted(site, kind="worker", worker="sim-birch", pool_version=1)
    assert "birch" in ask(site)["choices"][0]["message"]["content"]
    candidate_demote(test=test, principal=alice(site))
    assert worker_now(site, "sim-birch")["model"] == "sim-cedar"


def test_a_worker_of_another_pool_joins_and_leaves(site: Site):
    other_pool(site)
    before = values_now(site)
    test = start(
        site,
        candidate={"kind": "worker", "worker": "sim-cedar"},
        candidate_pool="second",
    )
    candidate_promote(test=test, principal=alice(site))
    cedar = str(site.cast.team.workers.get(name="sim-cedar").id)
    after = values_now(site)
    assert after["worker_ids"] == [*before["worker_ids"], cedar]
    assert after["fallback_id"] == cedar
    assert "cedar" in ask(site)["choices"][0]["message"]["content"]
    candidate_demote(test=test, principal=alice(site))
    assert values_now(site) == before


def test_a_tier_takes_what_another_pool_is(site: Site):
    second, before = other_pool(site), values_now(site)
    test = start(
        site, candidate={"kind": "tier", "tier": "ultra"}, candidate_pool="second"
    )
    candidate_promote(test=test, principal=alice(site))
    theirs, after = (
        pool_values(access_pool(second.team_id, second.id)),
        values_now(site),
    )
    assert after["worker_ids"] == theirs["worker_ids"]
    assert after["tiers"]["mini"] == theirs["tiers"]["ultra"]
    assert after["tiers"]["ultra"] == before["tiers"]["ultra"]
    assert (after["name"], after["is_default"]) == (before["name"], True)
    candidate_demote(test=test, principal=alice(site))
    assert values_now(site) == before


def forget_conductor(site: Site) -> None:
    row = site.cast.team.conductors.get(name="other")
    conductor_delete(conductor=row, actor=ACTOR)


def disable_birch(site: Site) -> None:
    change_worker(site.cast.team, "sim-birch", is_enabled=False)


def drop_ultra(site: Site) -> None:
    change_pool(site.cast.team, tiers={"ultra": None})


def nothing(site: Site) -> None:
    pass


@pytest.mark.parametrize(
    ("candidate", "change", "reason"),
    [
        (
            {"kind": "self_reflection", "worker": "sim-birch", "turns": 2},
            nothing,
            "is a fixed plan",
        ),
        ({**MINI, "workers": ["sim-birch"]}, nothing, "leaves out workers of the pool"),
        ({**MINI, "max_steps": 60}, nothing, "less than or equal to 50"),
        ({**MINI, "max_steps": 40}, nothing, "max_calls: must be at least max_steps"),
        ({**MINI, "conductor": "other"}, forget_conductor, "no conductor 'other' any"),
        ({**MINI, "pool_version": 1}, disable_birch, "which is disabled now"),
        ({"kind": "worker", "worker": "sim-birch"}, disable_birch, "no worker 'sim-b"),
        ({"kind": "tier", "tier": "ultra"}, drop_ultra, "no tier 'ultra' any more"),
    ],
)
def test_what_cannot_be_promoted_is_refused_with_the_reason(
    site: Site, other: str, candidate, change, reason
):
    change_pool(site.cast.team, retries_refusals=True)  # so that there is a version 1
    test = start(site, candidate=candidate)
    change(site)
    assert reason in why_not_promotable(test)
    page = signed_in(site.cast.alice).get(f"/evaluations/shadow/{test.id}/")
    assert "The candidate cannot be promoted: " in page.content.decode()
    assert re.search(
        r"<button[^>]* disabled[^>]*>Promote the candidate</button>",
        page.content.decode(),
    )
    key = keyed(site.cast.team, Scope.POOLS_WRITE)
    answer = key.put(f"shadow-tests/{test.id}/promotion/", {})
    assert answer.status_code == 409
    assert reason in answer.json()["error"]["message"]
    assert not entries_of(site.cast.team, "shadow_test.promoted")


def test_taking_back_is_refused_with_the_reason_beforehand(site: Site):
    test = promoted(site, kind="worker", worker="sim-birch")
    delta = str(site.cast.team.workers.get(name="sim-delta").id)
    assert why_not_demotable(test) == ""
    change_pool(site.cast.team, fallback_id=delta)
    page = signed_in(site.cast.alice).get(f"/evaluations/shadow/{test.id}/")
    assert "cannot be taken back: the tier has been changed" in page.content.decode()
    assert re.search(
        r"<button[^>]* disabled[^>]*>Take back</button>", page.content.decode()
    )
    with pytest.raises(Conflict, match="changed since"):
        candidate_demote(test=test, principal=alice(site))


def test_a_key_that_a_budget_binds_restores_no_cheaper_model(site: Site):
    team = site.cast.team
    price = {"input_usd": "100", "output_usd": "200"}
    change_worker(team, "sim-delta", model="sim-birch", price=price)
    test = start(site, candidate={**MINI, "pool_version": 1})
    pairs_add(test, FEWEST_PAIRS)
    limit(team)
    key = keyed(team, Scope.POOLS_WRITE, created_by=site.cast.bob)
    answer = key.put(f"shadow-tests/{test.id}/promotion/", {})
    assert answer.status_code == 403
    assert "a budget binds this API key" in answer.json()["error"]["message"]
    assert worker_now(site, "sim-delta")["model"] == "sim-birch"


def test_a_shadow_test_asks_another_planner_and_version(site: Site, other: str):
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    candidate = {**MINI, "conductor": other, "max_rounds": 2, "pool_version": 1}
    test = start(site, candidate=candidate, max_runs=1)
    ask(site)
    test = ended(test)
    assert shadow_report(test).compared == 1
    run = Run.objects.for_team(test.team_id).get(source=Source.SHADOW)
    event = created(run)
    params = json.loads(event.params or "{}")
    assert (params["conductor"], params["pool_version"]) == (other, 1)
    assert (event.pool_version, event.limits["max_rounds"]) == (1, 2)


def test_an_ab_test_asks_another_planner_and_version(site: Site, other: str):
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    candidate = {**MINI, "conductor": other, "max_rounds": 2, "pool_version": 1}
    test = test_ab.start(site, candidate=candidate)
    versions = []
    for arm in "ab":
        answer = test_ab.ask(site, test_ab.key_in(site, test, arm))
        assert answer.status_code == 200, answer.text
        event = created(test_ab.newest(site))
        versions.append((event.ab_arm, event.pool_version, event.limits["max_rounds"]))
    assert versions == [("a", 2, 1), ("b", 1, 2)]
    served = json.loads(event.params or "{}")["served"]
    assert (served["conductor"], served["pool_version"]) == (other, 1)


def test_candidates_of_both_kinds_of_test_have_fewer_workers_and_steps(site: Site):
    candidate = {**ULTRA, "workers": ["sim-birch"], "max_steps": 2}
    shadow = start(site, candidate=candidate, max_runs=1)
    ask(site)
    shadow = ended(shadow)
    assert shadow_report(shadow).compared == 1
    mirrored = Run.objects.for_team(shadow.team_id).get(source=Source.SHADOW)
    test = test_ab.start(site, candidate=candidate)
    seen = {}
    for arm in "ab":
        answer = test_ab.ask(site, test_ab.key_in(site, test, arm))
        assert answer.status_code == 200, answer.text
        seen[arm] = test_ab.newest(site)
    assert created(seen["a"]).limits["max_steps"] == 1  # of tier mini
    for run in (mirrored, seen["b"]):
        assert created(run).limits["max_steps"] == 2
        assert {step.worker for step in run_view(run).steps} == {"sim-birch"}
    served = json.loads(created(seen["b"]).params or "{}")["served"]
    assert (served["workers"], served["max_steps"]) == (["sim-birch"], 2)


def test_a_candidate_with_fewer_steps_is_promoted_and_one_with_fewer_workers_not(
    site: Site,
):
    key = keyed(site.cast.team, Scope.POOLS_WRITE)
    steps = test_ab.start(site, candidate={**ULTRA, "max_steps": 2})
    address = f"ab-tests/{steps.id}/promotion/"
    assert key.put(address, {}).status_code == 200
    assert values_now(site)["tiers"]["mini"]["max_steps"] == 2
    assert key.delete(address).status_code == 204
    workers = test_ab.start(site, candidate={**MINI, "workers": ["sim-birch"]})
    answer = key.put(f"ab-tests/{workers.id}/promotion/", {})
    assert answer.status_code == 409
    assert "leaves out workers of the pool" in answer.json()["error"]["message"]


def test_fewer_workers_and_steps_on_the_pages(site: Site):
    page, pool = signed_in(site.cast.alice), pool_now(site.cast.team).name
    usual = {
        "name": "Birch alone plans",
        "original": f"{pool} mini",
        "candidate": f"{pool} conductor:mini",
        "steps": "2",
        "workers": [f"{pool} sim-birch"],
        "percent": "50",
        "days": "7",
        "max_runs": "10",
    }
    shadow = {**usual, "begin": "now", "max_cost": "5", "grader": ""}
    for kind, fields in (("ab", usual), ("shadow", shadow)):
        form = page.get(f"/evaluations/{kind}/new/").content.decode()
        assert "Only these workers" in form
        answer = page.post(f"/evaluations/{kind}/new/", fields)
        assert answer.status_code == 302, answer.content.decode()
        shown = page.get(answer.headers["location"]).content.decode()
        assert "conductor (mini, 2 steps, only sim-birch)" in shown
        assert "leaves out workers of the pool" in shown
    one = {**shadow, "candidate": f"{pool} worker:sim-delta"}
    refused = page.post("/evaluations/shadow/new/", one)
    assert refused.status_code == 400
    assert refused.content.decode().count("Only a tier has this.") == 2


def test_a_worker_that_the_candidates_pool_lacks_is_refused(site: Site):
    other = other_pool(site)
    page, pool = signed_in(site.cast.alice), pool_now(site.cast.team).name
    fields = {
        "name": "Cedar",
        "original": f"{pool} mini",
        "candidate": f"{pool} conductor:mini",
        "workers": [f"{other.name} sim-cedar"],
        "percent": "50",
        "days": "7",
        "max_runs": "10",
    }
    answer = page.post("/evaluations/ab/new/", fields)
    assert answer.status_code == 400
    assert f"Expected workers of {pool} alone" in answer.content.decode()


def test_planners_and_versions_on_the_pages(site: Site, other: str):
    change_worker(site.cast.team, "sim-delta", model="sim-birch")
    page, pool = signed_in(site.cast.alice), pool_now(site.cast.team).name
    usual = {
        "name": "Other planner",
        "original": f"{pool} mini",
        "candidate": f"{pool} conductor:mini",
        "conductor": other,
        "rounds": "2",
        "pool_version": "1",
        "percent": "50",
        "days": "7",
        "max_runs": "10",
    }
    answer = page.post("/evaluations/ab/new/", usual)
    assert answer.status_code == 302, answer.content.decode()
    shown = page.get(answer.headers["location"]).content.decode()
    assert "conductor (mini, planned by other, 2 rounds, pool version 1)" in shown
    shadow = {**usual, "begin": "now", "max_cost": "5", "grader": ""}
    answer = page.post("/evaluations/shadow/new/", shadow)
    assert answer.status_code == 302, answer.content.decode()
    worker = {**shadow, "candidate": f"{pool} worker:sim-delta"}
    refused = page.post("/evaluations/shadow/new/", worker)
    assert refused.status_code == 400
    assert "Only a tier has this." in refused.content.decode()
