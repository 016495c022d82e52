"""A run may use less than its pool has, never more."""

from __future__ import annotations

import uuid
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import ConductorError, InvalidInput, NotAllowed
from apps.engine import events as ev
from apps.llm.types import Endpoint
from apps.pools.attributes import ConductorAttributes, WorkerAttributes
from apps.pools.types import (
    ConductorSnapshot,
    PoolSnapshot,
    TierSnapshot,
    WorkerSnapshot,
)
from apps.runs.models import Run
from apps.runs.planning.model_resolver import parse_model, resolve
from apps.runs.planning.restrictions import resolve_restricted
from apps.runs.selectors import order_of, run_events
from apps.runs.types import RunOrder, RunRestrictions
from tests.conftest import Site
from tests.factories import ACTOR, issue_key
from tests.runs.clients import ask_all, request

NAMES = ("alpha", "beta", "gamma")
MODELS = ("conductor-mini", "conductor-ultra", *(f"worker/{name}" for name in NAMES))


def endpoint(name: str) -> Endpoint:
    return Endpoint(name=name, base_url="http://127.0.0.1:9/v1", model=name)


def worker(name: str) -> WorkerSnapshot:
    return WorkerSnapshot(uuid.uuid4(), name, endpoint(name), None, WorkerAttributes())


def tier(name: str, max_cost_micros: int | None) -> TierSnapshot:
    return TierSnapshot(
        name, "conductor", None, 4, 2, 4, 40, None, max_cost_micros, 900
    )


def pool(max_cost_micros: int | None = None) -> PoolSnapshot:
    tiers = {name: tier(name, max_cost_micros) for name in ("mini", "ultra")}
    conductor = ConductorSnapshot(
        uuid.uuid4(), "c", endpoint("c"), None, ConductorAttributes()
    )
    return PoolSnapshot(
        id=uuid.uuid4(),
        team_id=uuid.uuid4(),
        name="lab",
        version=1,
        workers=tuple(worker(name) for name in NAMES),
        fallback="beta",
        conductor=conductor,
        tiers=MappingProxyType(tiers),
    )


def order(model: str = "conductor-ultra", **fields: Any) -> RunOrder:
    values = {"team_id": uuid.uuid4(), "actor": ACTOR, "prompt": "Why?", **fields}
    return RunOrder(model=model, source="api", **values)


def narrowed(model: str = "conductor-ultra", **fields: Any) -> Any:
    return resolve_restricted(parse_model(model), order(model, **fields), pool())


counts = st.none() | st.integers(1, 10)
names = st.lists(st.sampled_from([*NAMES, "nobody"]), max_size=4, unique=True)


@given(
    st.sampled_from(MODELS),
    st.none() | st.integers(1, 100),
    st.builds(
        RunRestrictions,
        workers=names.map(tuple),
        max_steps=counts,
        max_rounds=counts,
        max_cost_micros=st.none() | st.integers(1, 100),
    ),
    st.sets(st.sampled_from(["mini", "ultra"])),
    names,
)
def test_narrowing_never_widens(model, tier_cost, restrictions, tiers, workers):
    snapshot = pool(tier_cost)
    name = parse_model(model)
    whole = resolve(name, model, snapshot)
    wanted = order(
        model,
        restrictions=restrictions,
        allowed_tiers=frozenset(tiers),
        allowed_workers=frozenset(workers),
    )
    try:
        got = resolve_restricted(name, wanted, snapshot)
    except ConductorError:
        return
    assert set(got.pool.names) <= set(whole.pool.names)
    assert set(got.pool.names) <= set(restrictions.workers or NAMES)
    assert set(got.pool.names) <= set(workers or NAMES)
    assert got.pool.fallback in got.pool.names
    assert set(got.endpoints) <= set(whole.endpoints)
    assert name.tier in (tiers or {name.tier}) or name.tier == "direct"
    for limit in ("max_steps", "max_rounds", "max_cost_micros"):
        was, now = getattr(whole.limits, limit), getattr(got.limits, limit)
        assert was is None or now <= was
        if (asked := getattr(restrictions, limit)) is not None:
            assert now <= asked
    assert got.limits.max_calls == whole.limits.max_calls


def test_the_first_worker_left_takes_over_as_fallback():
    assert (
        narrowed(restrictions=RunRestrictions(("gamma", "alpha"))).pool.fallback
        == "alpha"
    )
    assert (
        narrowed(restrictions=RunRestrictions(("gamma", "beta"))).pool.fallback
        == "beta"
    )


def test_an_unknown_worker_is_refused_by_field():
    with pytest.raises(InvalidInput) as refusal:
        narrowed(restrictions=RunRestrictions(("nobody",)))
    assert refusal.value.param == "conductor.workers"


@pytest.mark.parametrize(
    "fields",
    [
        {"allowed_tiers": frozenset({"mini"})},
        {"allowed_workers": frozenset({"of another pool"})},
        {"model": "worker/alpha", "allowed_workers": frozenset({"beta"})},
        {
            "allowed_workers": frozenset({"beta"}),
            "restrictions": RunRestrictions(("alpha",)),
        },
    ],
)
def test_what_the_key_may_not_use_is_refused(fields):
    with pytest.raises(NotAllowed):
        narrowed(**fields)


# --- over the API ---------------------------------------------------------------------


def ask(site: Site, conductor: Any, model: str = "conductor-ultra") -> Any:
    body = request(model, "What is 17 * 23 + 4?", is_streamed=False)
    (said,) = ask_all(site, [("", "", {**body, "conductor": conductor})])
    return said


def test_a_plan_uses_the_named_workers_alone_and_it_is_on_record(site):
    said = ask(site, {"workers": ["sim-birch"], "max_steps": 1, "max_cost_usd": "0.05"})
    assert said.status == 200, said.text
    run = Run.objects.for_team(site.cast.team.id).get()
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    assert {step.worker for step in run.steps.all()} == {"sim-birch"}
    assert (created.limits["max_steps"], created.limits["max_cost_micros"]) == (
        1,
        50_000,
    )
    again = order_of(run, created)
    assert again.restrictions == RunRestrictions(("sim-birch",), 1, None, 50_000)


def test_a_limited_key_is_held_to_its_tiers_and_workers(site):
    key = issue_key(
        site.cast.team, allowed_tiers=["mini"], allowed_workers=["sim-birch"]
    )
    limited = Site(
        site.url,
        type(site.cast)(**{**vars(site.cast), "key": key}),
        site.simulator_url,
    )
    assert ask(limited, None).status == 403
    assert ask(limited, None, "worker/sim-delta").status == 403
    assert ask(limited, None, "conductor-mini").status == 200
    run = Run.objects.for_team(site.cast.team.id).get()
    created = run_events(run)[0].event
    assert isinstance(created, ev.RunCreated)
    assert order_of(run, created).allowed_workers == frozenset({"sim-birch"})
    assert {step.worker for step in run.steps.all()} == {"sim-birch"}


@pytest.mark.parametrize(
    ("conductor", "param"),
    [
        ([], "conductor"),
        ({"max_stepz": 1}, "conductor.max_stepz"),
        ({"workers": []}, "conductor.workers"),
        ({"workers": "alpha"}, "conductor.workers"),
        ({"workers": [1]}, "conductor.workers[0]"),
        ({"workers": ["nobody"]}, "conductor.workers"),
        ({"max_steps": 0}, "conductor.max_steps"),
        ({"max_steps": True}, "conductor.max_steps"),
        ({"max_rounds": -1}, "conductor.max_rounds"),
        ({"max_cost_usd": 0.05}, "conductor.max_cost_usd"),
        ({"max_cost_usd": "0"}, "conductor.max_cost_usd"),
        ({"max_cost_usd": "-1"}, "conductor.max_cost_usd"),
        ({"max_cost_usd": "NaN"}, "conductor.max_cost_usd"),
    ],
)
def test_a_bad_narrowing_is_refused_by_field(site, conductor, param):
    said = ask(site, conductor)
    assert (said.status, said.error["param"]) == (400, param), said.text
