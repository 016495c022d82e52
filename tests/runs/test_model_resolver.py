"""What a run gets of its pool: abilities, substitutes, delivery, who goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.core.errors import InvalidInput
from apps.engine.ports import CallParams, Message, PlanRequest, Task
from apps.pools.types import PoolSnapshot
from apps.runs.planning.model_resolver import (
    ResolvedModel,
    continued,
    parse_model,
    resolve,
)
from apps.runs.planning.restrictions import check_suited, resolve_restricted
from apps.runs.records.run_params import delivery_of
from apps.runs.types import RunRestrictions
from tests.runs.test_restrictions import order, pool

TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}
PICTURE: Message = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ],
}
JSON_FORMAT = {"type": "json_object"}


def resolved(model: str = "conductor-ultra", given: PoolSnapshot | None = None) -> Any:
    return resolve(parse_model(model), model, given or pool())


def changed(model: Any, **attributes: Any) -> Any:
    """Return the snapshot of a worker or conductor with other attributes."""
    return replace(model, attributes=model.attributes.model_copy(update=attributes))


def with_worker(name: str, **abilities: Any) -> PoolSnapshot:
    snapshot = pool()
    workers = tuple(
        changed(worker, **abilities) if worker.name == name else worker
        for worker in snapshot.workers
    )
    return replace(snapshot, workers=workers)


def with_tier(**values: Any) -> PoolSnapshot:
    snapshot = pool()
    tiers = {name: replace(tier, **values) for name, tier in snapshot.tiers.items()}
    return replace(snapshot, tiers=tiers)


def test_abilities_reach_the_engine():
    snapshot = with_worker(
        "alpha",
        context_tokens=8_192,
        accepts_images=True,
        accepts_tools=False,
        accepts_prefill=True,
    )
    worker = resolved(given=snapshot).pool.worker("alpha")
    assert worker.context_tokens == 8_192
    assert (worker.accepts_images, worker.accepts_tools) == (True, False)
    assert worker.accepts_prefill
    assert worker.hedge_after_s is None


def test_all_but_the_fallback_take_over_in_order_unless_they_may_not():
    assert resolved().pool.substitutes == ("alpha", "gamma")
    alpha, *others = pool().workers
    loner = replace(alpha, may_substitute=False)
    snapshot = replace(pool(), workers=(loner, *others))
    assert resolved(given=snapshot).pool.substitutes == ("gamma",)


def test_nobody_takes_over_from_a_worker_that_was_named():
    direct = resolved("worker/alpha").pool
    assert (direct.names, direct.substitutes) == (("alpha",), ())


def test_narrowed_pool_has_no_other_substitutes():
    wanted = order(restrictions=RunRestrictions(("gamma", "beta")))
    got = resolve_restricted(parse_model(wanted.model), wanted, pool())
    assert (got.pool.fallback, got.pool.substitutes) == ("beta", ("gamma",))


def test_context_of_the_conductor_and_the_deadline_of_steps(settings: Any):
    settings.STEP_TIME_S = 7
    snapshot = pool()
    assert snapshot.conductor is not None
    conductor = changed(snapshot.conductor, context_tokens=4_096)
    got = resolved(given=replace(snapshot, conductor=conductor))
    assert got.pool.conductor_context_tokens == 4_096
    assert got.limits.step_time_s == 7
    assert resolved("worker/alpha").limits.step_time_s == 7


def test_begun_reasoning_is_left_out_where_plans_are_json():
    """A conductor may be saved with both; its runs begin all the same."""
    snapshot = pool()
    assert snapshot.conductor is not None
    both = changed(snapshot.conductor, mode="json_schema", uses_prefill=True)
    planner = resolved(given=replace(snapshot, conductor=both)).planner
    assert (planner.mode, planner.uses_prefill) == ("json_schema", False)


def test_hedging_is_the_tiers():
    assert not resolved().limits.is_hedged
    assert resolved(given=with_tier(is_hedged=True)).limits.is_hedged


@pytest.mark.parametrize(
    ("tier", "asked", "delivery"),
    [
        ("live", None, "live"),
        ("verified", None, "verified"),
        ("verified", "live", "live"),
        ("live", "verified", "verified"),
    ],
)
def test_most_specific_delivery_wins(tier, asked, delivery):
    got = resolved(given=with_tier(delivery=tier))
    assert delivery_of(order(delivery=asked), got) == delivery


@pytest.mark.parametrize(
    ("response_format", "delivery"),
    [(JSON_FORMAT, "verified"), ({"type": "text"}, "live"), (None, "live")],
)
def test_structured_output_goes_out_whole(response_format, delivery):
    wanted = order(params=CallParams(response_format=response_format), delivery="live")
    assert delivery_of(wanted, resolved()) == delivery


async def planned_by(got: ResolvedModel, prompt: str) -> Any:

    async def ask(*_: Any) -> Any:
        raise AssertionError("no model is asked")

    return await got.planner.plan(PlanRequest(Task(prompt), got.pool, 5), ask)


async def test_who_asked_for_tools_goes_on_without_a_plan_of_a_model():
    got = continued(resolved(), "gamma")
    plan = await planned_by(got, "What now?")
    assert got.planner.name == "tool_continuation"
    assert [(s.worker, s.subtask, s.access) for s in plan.steps] == [
        ("gamma", "What now?", ())
    ]
    assert (got.pool.fallback, got.pool.substitutes) == ("beta", ("alpha", "gamma"))
    assert not got.plans_with_model


@pytest.mark.parametrize(
    ("model", "worker"), [("conductor-ultra", "gone"), ("worker/alpha", "beta")]
)
def test_who_is_not_there_any_more_cannot_go_on(model, worker):
    assert continued(resolved(model), worker) == resolved(model)


def refusal(model: str, given: PoolSnapshot, **fields: Any) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        check_suited(order(model, **fields), resolved(model, given))
    return refused.value


def test_images_are_refused_where_nobody_takes_them():
    asked: dict[str, Any] = {"messages": (PICTURE,), "prompt_field": "input"}
    refused = refusal("conductor-ultra", pool(), **asked)
    assert refused.param == "input"
    assert "no worker that this run may use of pool 'lab' takes images" in str(refused)
    direct = refusal("worker/alpha", pool(), messages=(PICTURE,))
    assert "worker 'alpha' takes no images" in direct.message


def test_tools_are_refused_where_nobody_calls_them():
    snapshot = pool()
    workers = tuple(changed(w, accepts_tools=False) for w in snapshot.workers)
    given = replace(snapshot, workers=workers)
    params = CallParams(tools=(TOOL,))
    assert refusal("conductor-mini", given, params=params).param == "tools"
    direct = refusal("worker/alpha", given, params=params)
    assert (direct.param, "worker 'alpha'" in direct.message) == ("tools", True)


def test_one_suited_worker_is_enough():
    given = with_worker("gamma", accepts_images=True)
    fields: dict[str, Any] = {
        "messages": (PICTURE,),
        "params": CallParams(tools=(TOOL,)),
    }
    check_suited(order(**fields), resolved(given=given))
    refusal("worker/alpha", given, **fields)
