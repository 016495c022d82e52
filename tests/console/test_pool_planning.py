"""A tier that is offered as one that plans does plan, or the page says why not."""

import pytest

from apps.pools.models import Pool
from tests.console.models import pool_input, signed_in, words
from tests.factories import ConductorFactory, PoolFactory, WorkerFactory

NO_CONDUCTOR = "The ultra tier does not plan, because the pool has no conductor"
BY_CHOICE = "The ultra tier does not plan, because it is set to use no plan"


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.fixture
def bare(cast):
    """A pool without a conductor, whose tiers therefore use a single worker."""
    pool = PoolFactory.create(team=cast.team, name="house", conductor=None)
    pool.tiers.update(planner="single_worker")
    pool.tiers.filter(name="ultra").delete()
    return pool


def as_shown(page, pool, **changes):
    """Return what the page's form sends if only `changes` are made in it."""
    sent = pool_input(pool, **changes)
    for tier in ("mini", "ultra"):
        name = f"tiers.{tier}.planner"
        sent.setdefault(name, "")
        if name not in changes:
            sent[name] = page.context["form"].initial[name]
    return sent


def planners(pool):
    return dict(pool.tiers.values_list("name", "planner"))


def test_conductor_and_ultra_chosen_in_one_edit_make_ultra_plan(cast, alice, bare):
    """Promise O1: nothing else on the form has to be found and changed."""
    conductor = ConductorFactory.create(team=cast.team)
    url = f"/pools/{bare.id}/"
    sent = as_shown(alice.get(url), bare, conductor_id=str(conductor.id))
    page = alice.post(url, sent, follow=True).content.decode()
    assert planners(bare) == {"mini": "conductor", "ultra": "conductor"}
    assert "does not plan" not in page
    assert f"{conductor.name} plans its tiers from now on" in words(page)


def test_pool_made_with_a_conductor_and_ultra_plans(cast, alice):
    """Promise O1, for a pool that is new: the conductor may be made after the page."""
    worker = WorkerFactory.create(team=cast.team)
    page = alice.get("/pools/new/")
    conductor = ConductorFactory.create(team=cast.team)
    sent = {
        **pool_input(PoolFactory.create(team=cast.team, conductor=None)),
        "name": "second",
        "version": "",
        "worker_ids": [str(worker.id)],
        "substitute_ids": [],
        "fallback_id": str(worker.id),
        "conductor_id": str(conductor.id),
        **{
            f"tiers.{tier}.planner": page.context["form"].initial[
                f"tiers.{tier}.planner"
            ]
            for tier in ("mini", "ultra")
        },
    }
    assert alice.post("/pools/new/", sent).status_code == 302
    pool = Pool.objects.for_team(cast.team.id).get(name="second")
    assert planners(pool) == {"mini": "conductor", "ultra": "conductor"}


def test_ultra_without_a_conductor_says_that_it_does_not_plan(cast, alice, bare):
    url = f"/pools/{bare.id}/"
    sent = as_shown(alice.get(url), bare)
    saved = words(alice.post(url, sent, follow=True).content.decode())
    assert planners(bare)["ultra"] == "single_worker"
    assert f"{NO_CONDUCTOR}: alpha answers alone." in saved
    assert NO_CONDUCTOR in words(alice.get("/pools/").content.decode())


def test_ultra_kept_from_planning_says_so_and_stays_as_chosen(cast, alice):
    pool = PoolFactory.create(team=cast.team, name="house")
    url = f"/pools/{pool.id}/"
    sent = as_shown(alice.get(url), pool, **{"tiers.ultra.planner": "single_worker"})
    saved = words(alice.post(url, sent, follow=True).content.decode())
    assert planners(pool) == {"mini": "conductor", "ultra": "single_worker"}
    assert BY_CHOICE in saved
    assert BY_CHOICE in words(alice.get("/pools/").content.decode())
    again = as_shown(alice.get(url), pool, name="home")
    alice.post(url, again)
    assert planners(pool)["ultra"] == "single_worker"


def test_conductor_that_no_tier_uses_is_mentioned(cast, alice, bare):
    conductor = ConductorFactory.create(team=cast.team, name="planner")
    bare.conductor = conductor
    bare.save()
    page = words(alice.get("/pools/").content.decode())
    assert "No tier of this pool uses the conductor planner" in page


def test_pool_that_plans_has_no_warning(cast, alice):
    pool = PoolFactory.create(team=cast.team, name="house")
    for url in ("/pools/", f"/pools/{pool.id}/"):
        assert "does not plan" not in words(alice.get(url).content.decode())


# --- what a new pool begins with (promise C8) ----------------------------------------


def with_last_test(team, name, ok):
    """Return a worker with a last test, or without one."""
    worker = WorkerFactory.create(team=team, name=name)
    if ok is not None:
        worker.last_test = {
            "ok": ok,
            "latency_ms": 5,
            "answer": "42",
            "model": name,
            "error_code": "" if ok else "connect",
            "message": "",
            "tested_at": "2026-11-22T12:00:00+00:00",
            "abilities": {},
        }
        worker.save()
    return worker


def test_new_pool_begins_with_workers_that_are_known_to_answer(cast, alice):
    with_last_test(cast.team, "a-failing", ok=False)
    with_last_test(cast.team, "b-untested", ok=None)
    good = with_last_test(cast.team, "c-good", ok=True)
    form = alice.get("/pools/new/").context["form"]
    ids = [str(good.id)]
    assert form["worker_ids"].value() == ids
    assert form["substitute_ids"].value() == ids
    assert form["fallback_id"].value() == str(good.id)


def test_new_pool_of_untested_workers_has_nothing_chosen(cast, alice):
    with_last_test(cast.team, "a-untested", ok=None)
    page = alice.get("/pools/new/")
    form = page.context["form"]
    assert (form["worker_ids"].value(), form["fallback_id"].value()) == ([], "")
    assert "Choose a worker" in page.content.decode()
