"""Converts orders to the parameters that a run's first entry keeps, and back.

The parameters are one JSON object: what differs from the default, and nothing else, so
that a plain question keeps none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any
from uuid import UUID

import orjson

from apps.audit.types import Actor
from apps.engine import events as ev
from apps.engine.ports import CallParams, ReusedAnswer
from apps.planners.fixed import planner_read, planner_values
from apps.runs.models import Run
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.planning.restrictions import is_restricted
from apps.runs.preset_use import preset_used
from apps.runs.types import (
    UNRESTRICTED,
    Delivery,
    MirroredCall,
    PromptConfines,
    RecordRedaction,
    RunArm,
    RunOrder,
    RunRestrictions,
)


def delivery_of(order: RunOrder, resolved: ResolvedModel) -> Delivery:
    """Return how the answer goes out; the most specific wish counts.

    What is checked by a format cannot go out before it is whole.
    """
    response_format = order.params.response_format
    if response_format is not None and response_format.get("type") != "text":
        return "verified"
    return order.delivery or resolved.delivery


def params_on_record(order: RunOrder, delivery: Delivery) -> str:
    """Return what an order asks for beside its prompt, as JSON; empty: nothing.

    The delivery is that of the run if its answer is streamed, else what was asked.
    """
    is_held_back = order.is_streamed and delivery == "verified"
    given: dict[str, Any] = {
        field.name: value
        for field in fields(order.params)
        if (value := getattr(order.params, field.name)) not in (None, ())
    }
    beside = {
        "messages": order.messages,
        "continues": order.continues,
        "delivery": delivery if is_held_back else order.delivery,
        "echo": order.echo,
        "planner": planner_values(order.planner) if order.planner else None,
        "conductor": order.conductor,
        "max_rounds": order.max_rounds,
        "pool_version": order.pool_version,
        "reused": [asdict(answer) for answer in order.reused],
        "derived_from": order.derived_from,
        "mirrors": asdict(order.mirrors) if order.mirrors else None,
        "served": _served(order.arm) if order.arm else None,
        "explores": order.explores,
        "metadata": dict(order.metadata),
        "attachments": order.attachments,
    }
    given |= {name: value for name, value in beside.items() if value}
    if is_restricted(order):
        given |= _recorded_restrictions(order)
    return orjson.dumps(given).decode() if given else ""


def params_of(created: ev.RunCreated) -> dict[str, Any]:
    """Return the recorded parameters as they are; those erased read as none."""
    given: dict[str, Any] = orjson.loads(created.params or "{}")
    return given


def prompt_confines(params: str) -> PromptConfines:
    """Return the confines in the recorded parameters of a run; see `params_on_record`.

    Those erased read as none: the prompt is gone with them.
    """
    given: dict[str, Any] = orjson.loads(params or "{}")
    narrowing = given.get("narrowing", {})
    lists = [given.get("allowed_workers"), narrowing.get("workers")]
    allowed = [frozenset(names) for names in lists if names]
    return PromptConfines(
        frozenset.intersection(*allowed) if allowed else None,
        stated_classes_in(given),
    )


def stated_classes_in(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the data classes that recorded parameters state."""
    classes = (
        given.get("key_data_class"),
        given.get("narrowing", {}).get("data_class"),
    )
    return tuple(name for name in classes if name)


def order_of(run: Run, created: ev.RunCreated) -> RunOrder:
    """Return the order a recorded run was started with."""
    given = params_of(created)
    restrictions: dict[str, Any] = given.get("narrowing", {})
    restrictions["workers"] = tuple(restrictions.get("workers", ()))
    return RunOrder(
        team_id=run.team_id,
        actor=Actor(run.actor_type, run.actor_id, run.actor_name),
        prompt=created.prompt,
        model=run.model,
        source=run.source,
        params=_call_params(given),
        user_id=run.user_id,
        api_key_id=run.api_key_id,
        restrictions=RunRestrictions(**restrictions),
        allowed_tiers=frozenset(given.get("allowed_tiers", ())),
        allowed_workers=frozenset(given.get("allowed_workers", ())),
        key_data_class=given.get("key_data_class", ""),
        messages=tuple(given.get("messages", ())),
        continues=given.get("continues", ""),
        delivery=given.get("delivery"),
        echo=given.get("echo", {}),
        redaction=_redaction_of(created),
        planner=planner_read(given["planner"]) if "planner" in given else None,
        conductor=given.get("conductor", ""),
        max_rounds=given.get("max_rounds"),
        pool_version=given.get("pool_version"),
        reused=tuple(ReusedAnswer(**each) for each in given.get("reused", ())),
        derived_from=UUID(given["derived_from"]) if "derived_from" in given else None,
        mirrors=_mirrored(given["mirrors"]) if "mirrors" in given else None,
        arm=_arm_of(created, given.get("served", {})),
        family=created.family,
        preset=preset_used(created),
        explores=given.get("explores", False),
        metadata=given.get("metadata", {}),
        attachments=tuple(given.get("attachments", ())),
    )


def _served(arm: RunArm) -> dict[str, Any]:
    planner = planner_values(arm.planner) if arm.planner else None
    values = {
        "model": arm.model,
        "planner": planner,
        "conductor": arm.conductor,
        "max_rounds": arm.max_rounds,
        "pool_version": arm.pool_version,
        "workers": arm.workers,
        "max_steps": arm.max_steps,
    }
    return {name: value for name, value in values.items() if value}


def _arm_of(created: ev.RunCreated, served: Mapping[str, Any]) -> RunArm | None:
    if not created.ab_test:
        return None
    planner = served.get("planner")
    return RunArm(
        UUID(created.ab_test),
        "b" if created.ab_arm == "b" else "a",
        served.get("model", ""),
        planner_read(planner) if planner else None,
        conductor=served.get("conductor", ""),
        max_rounds=served.get("max_rounds"),
        pool_version=served.get("pool_version"),
        workers=tuple(served.get("workers", ())),
        max_steps=served.get("max_steps"),
    )


def _redaction_of(created: ev.RunCreated) -> RecordRedaction | None:
    if created.redacted is None:
        return None
    return RecordRedaction(created.redacted_class, created.redacted)


def _mirrored(given: Mapping[str, Any]) -> MirroredCall:
    user_id, api_key_id = given["user_id"], given["api_key_id"]
    return MirroredCall(
        UUID(given["run_id"]),
        given["source"],
        None if user_id is None else UUID(user_id),
        None if api_key_id is None else UUID(api_key_id),
    )


def _call_params(given: Mapping[str, Any]) -> CallParams:
    known = {field.name for field in fields(CallParams)}
    values = {name: value for name, value in given.items() if name in known}
    for name in ("stop", "tools"):
        values[name] = tuple(values.get(name, ()))
    return CallParams(**values)


def _recorded_restrictions(order: RunOrder) -> dict[str, object]:
    allowed = {
        "allowed_tiers": sorted(order.allowed_tiers),
        "allowed_workers": sorted(order.allowed_workers),
    }
    given: dict[str, object] = {name: names for name, names in allowed.items() if names}
    if order.key_data_class:
        given["key_data_class"] = order.key_data_class
    if order.restrictions != UNRESTRICTED:
        wanted = asdict(order.restrictions)
        given["narrowing"] = {k: v for k, v in wanted.items() if v not in (None, ())}
    return given
