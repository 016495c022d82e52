"""Conversations keep the worker of the turn before, unless another one is worth it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import pytest
from django.test import Client
from openai import OpenAI

from apps.engine import events as ev
from apps.engine.errors import CallFault
from apps.engine.usage import Usage
from apps.pools.models import Price, Worker
from apps.pools.snapshots import snapshots_forget
from apps.runs.execution import executor as executors
from apps.runs.execution.circuit_breaker import FAILURES, Key
from apps.runs.execution.conversation_memory import ConversationMemory
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.conversations.test_conversations import begun, said
from tests.factories import issue_key
from tests.gateway.test_tools_live import WEATHER
from tests.governance.test_policies import in_force, tag
from tests.rest.conftest import member
from tests.runs.asking import Stage, planned
from tests.runs.clients import ask_all
from tests.runs.starting import order
from tests.training.light_pools import with_light_planner

ULTRA = "conductor-ultra"
RULES = "You answer the questions of a shop's customers, shortly and politely. " * 100
FIRST = planned([0])
"""A question for which the conductor names the pool's first worker."""
Message = dict[str, Any]


@pytest.fixture
def shop(stage: Stage) -> Site:
    """The site with a cheap cache at every provider."""
    prices = Price.objects.for_team(stage.site.cast.team.id)
    prices.exclude(worker=None).update(cached_input_micros=100_000)
    return stage.site


def ask(site: Site, messages: Sequence[Message], **fields: Any) -> Message:
    """Ask and return the answer as a message."""
    body = {"model": ULTRA, "messages": list(messages), **fields}
    (found,) = ask_all(site, [("", "", body)])
    assert found.status == 200, found.text
    return {"role": "assistant", "content": found.answer}


def first_turn(site: Site, rules: str = RULES) -> list[Message]:
    """Return a conversation with its first answer."""
    asked = [{"role": "system", "content": rules}, {"role": "user", "content": FIRST}]
    return [*asked, ask(site, asked)]


def follow_up(site: Site, history: Sequence[Message], **fields: Any) -> None:
    ask(site, [*history, {"role": "user", "content": "And then?"}], **fields)


def turn_workers(site: Site) -> None:
    """Put the pool's workers in the other order: the conductor now names the other."""
    places = site.cast.team.pools.get(is_default=True).places.order_by("position")
    for place, position in zip(places, (91, 90), strict=True):
        place.position = position
        place.save()
    snapshots_forget(site.cast.team.id)


def plan_of(site: Site) -> ev.PlanAccepted:
    """Return the plan of the newest run."""
    run = Run.objects.for_team(site.cast.team.id).latest("id")
    found = [recorded.event for recorded in run_events(run)]
    (plan,) = [event for event in found if isinstance(event, ev.PlanAccepted)]
    return plan


def test_the_worker_of_the_turn_before_is_kept_for_its_cache(shop):
    history = first_turn(shop)
    (first,) = plan_of(shop).workers
    assert plan_of(shop).stickiness == ""
    turn_workers(shop)
    follow_up(shop, history)
    plan = plan_of(shop)
    assert plan.workers == (first,)
    assert plan.stickiness == "kept"
    assert f"tokens of {first} in a cache a change costs $" in plan.stickiness_reason


def test_a_short_conversation_has_no_cache_to_lose(shop):
    history = first_turn(shop, "Be short.")
    (first,) = plan_of(shop).workers
    turn_workers(shop)
    follow_up(shop, history)
    plan = plan_of(shop)
    assert plan.stickiness == "changed" and plan.workers != (first,)
    assert f"nothing of {first} in a cache" in plan.stickiness_reason


def test_without_a_price_for_cached_input_there_is_nothing_to_lose(stage):
    history = first_turn(stage.site)
    turn_workers(stage.site)
    follow_up(stage.site, history)
    assert plan_of(stage.site).stickiness == "changed"


def test_the_same_choice_is_kept_and_says_so(shop):
    history = first_turn(shop)
    follow_up(shop, history)
    plan = plan_of(shop)
    assert plan.stickiness == "kept"
    assert "is the choice of this turn too" in plan.stickiness_reason


def test_another_conversation_knows_nothing_of_it(shop):
    history = first_turn(shop)
    history[0] = {"role": "system", "content": f"{RULES} Always."}
    follow_up(shop, history)
    assert plan_of(shop).stickiness == ""


def test_texts_in_parts_are_the_same_conversation(shop):
    history = first_turn(shop)
    history[1] = {"role": "user", "content": [{"type": "text", "text": FIRST}]}
    turn_workers(shop)
    follow_up(shop, history)
    assert plan_of(shop).stickiness == "kept"


def test_a_worker_that_the_caller_leaves_out_is_not_kept(shop):
    history = first_turn(shop)
    (first,) = plan_of(shop).workers
    others = Worker.objects.for_team(shop.cast.team.id).exclude(name=first)
    follow_up(shop, history, conductor={"workers": [others.get().name]})
    plan = plan_of(shop)
    assert plan.workers == (others.get().name,)
    assert plan.stickiness == "changed"
    assert f"{first} may not be used" in plan.stickiness_reason


def test_a_model_that_the_caller_names_is_used_without_a_word(shop):
    history = first_turn(shop)
    (first,) = plan_of(shop).workers
    other = Worker.objects.for_team(shop.cast.team.id).exclude(name=first).get()
    follow_up(shop, history, model=f"worker/{other.name}")
    assert (plan_of(shop).workers, plan_of(shop).stickiness) == ((other.name,), "")


def test_a_worker_that_a_policy_refuses_is_not_kept(shop):
    history = first_turn(shop)
    (first,) = plan_of(shop).workers
    tag(shop, first, "far")
    effect = {"kind": "no_workers", "tags": ["far"]}
    in_force(shop, {"name": "Nothing far", "effect": effect})
    turn_workers(shop)
    follow_up(shop, history)
    plan = plan_of(shop)
    assert first not in plan.workers and plan.stickiness == "changed"


def test_a_worker_that_keeps_failing_is_not_kept(shop):
    history = first_turn(shop)
    (first,) = plan_of(shop).workers
    worker = Worker.objects.for_team(shop.cast.team.id).get(name=first)
    key: Key = (shop.cast.team.id, worker.base_url, worker.model)
    circuits = executors.get_executor().circuit_breakers
    for _ in range(FAILURES):
        circuits.failed(key, CallFault.CONNECT)
    turn_workers(shop)
    follow_up(shop, history)
    plan = plan_of(shop)
    assert first not in plan.workers and plan.stickiness == "changed"
    assert "not called at the moment" in plan.stickiness_reason


def test_rest_and_the_page_say_what_was_decided(shop):
    history = first_turn(shop)
    turn_workers(shop)
    follow_up(shop, history)
    run = Run.objects.for_team(shop.cast.team.id).latest("id")
    reason = plan_of(shop).stickiness_reason
    reader = issue_key(shop.cast.team, scopes=["runs:read"])
    answer = Client().get(
        f"/api/v1/runs/{run.id}/", headers={"Authorization": f"Bearer {reader.secret}"}
    )
    assert answer.json()["stickiness"] == [
        {"round": 0, "outcome": "kept", "reason": reason}
    ]
    browser = Client()
    browser.force_login(shop.cast.bob)
    page = browser.get(f"/runs/{run.id}/").content.decode()
    assert "Kept from the turn before" in page and "in a cache a change costs" in page


# --- the ways in which a turn follows another -----------------------------------------


@pytest.fixture
def client(shop: Site) -> Iterator[OpenAI]:
    """Return the official client."""
    with OpenAI(base_url=shop.api_url, api_key=shop.key, max_retries=0) as opened:
        yield opened


def test_a_response_that_names_the_one_before_is_its_next_turn(shop, client):
    first = client.responses.create(model=ULTRA, instructions=RULES, input=FIRST)
    workers = plan_of(shop).workers
    turn_workers(shop)
    client.responses.create(
        model=ULTRA,
        instructions=RULES,
        input="And then?",
        previous_response_id=first.id,
    )
    assert (plan_of(shop).workers, plan_of(shop).stickiness) == (workers, "kept")


def test_a_turn_of_a_thread_follows_the_one_before(shop):
    bob = member(shop.cast.bob)
    chat = begun(bob)
    said(bob, chat, f"{RULES} {FIRST}", model=ULTRA)
    said(bob, chat, "And then?", model=ULTRA)
    workers = plan_of(shop).workers
    turn_workers(shop)
    said(bob, chat, "And in the end?", model=ULTRA)
    assert (plan_of(shop).workers, plan_of(shop).stickiness) == (workers, "kept")


def test_a_worker_that_asked_for_tools_is_kept_in_their_loop_and_after_it(shop, client):
    question = "Use the tool weather: what is the weather in Rome?"
    plan = f"model_id = [0]\nsubtasks = [{question!r}]\naccess_list = [[]]"
    asked: list[Message] = [
        {"role": "system", "content": RULES},
        {"role": "user", "content": f"{question} <<plan\n{plan}>>"},
    ]

    def answered(messages: list[Message], **fields: Any) -> list[Message]:
        body: Any = {"model": ULTRA, "messages": messages, "tools": [WEATHER], **fields}
        answer = client.chat.completions.create(**body).choices[0].message
        return [*messages, answer.model_dump(exclude_none=True)]

    called = answered(asked, tool_choice="required")
    workers = plan_of(shop).workers
    turn_workers(shop)
    (call,) = called[-1]["tool_calls"]
    result = {"role": "tool", "tool_call_id": call["id"], "content": "31 degrees"}
    looked = answered([*called, result])
    plan_then = plan_of(shop)
    assert (plan_then.workers, plan_then.stickiness) == (workers, "kept")
    assert "asked for the tools whose results came" in plan_then.stickiness_reason
    answered([*looked, {"role": "user", "content": "And then?"}])
    plan_then = plan_of(shop)
    assert (plan_then.planner, plan_then.workers) == ("language_model", workers)
    assert plan_then.stickiness == "kept"


def test_a_turn_that_was_resumed_can_be_followed(shop):
    asked: Any = (
        {"role": "system", "content": RULES},
        {"role": "user", "content": FIRST},
    )
    memory = ConversationMemory()
    turn = order(shop.cast, asked, model=ULTRA)
    plan = ev.PlanAccepted(
        0, "language_model", ("a", "b"), ((), (0,)), (), ("x", "y"), ""
    )
    done = ev.StepCompleted(0, 1, 1, "c", "t", "", "stop", "m", Usage(), 0, 0, None)
    watch = memory.watch(turn, [plan])
    watch.hear(done)
    watch.hear(ev.RunCompleted("t", "stop", Usage(), 0, False, 0, 0))
    answer: Any = {"role": "assistant", "content": "t"}
    then = order(shop.cast, (*asked, answer, asked[1]), model=ULTRA)
    last = memory.last_turn(then)
    assert last is not None and last.workers == ("a", "c")
    assert {step.subtask for step in last.steps} == {
        ""
    }  # what a model wrote is not kept


def test_a_tier_of_the_light_planner_keeps_its_plan(shop):
    with_light_planner(shop)
    history = first_turn(shop)
    first = plan_of(shop)
    assert first.planner == "light"
    # From now on everybody else is a little cheaper.
    prices = Price.objects.for_team(shop.cast.team.id)
    prices.filter(worker__name__in=first.workers).update(output_micros=2_100_000)
    snapshots_forget(shop.cast.team.id)
    follow_up(shop, history)
    plan = plan_of(shop)
    assert (plan.planner, plan.workers) == ("light", first.workers)
    assert plan.stickiness == "kept"
    assert "is expected to be right" in plan.stickiness_reason


def test_what_a_provider_read_from_its_cache_costs_less(shop, recruit):
    recruit("thinker")  # it finds half of each prompt in its cache
    prices = Price.objects.for_team(shop.cast.team.id)
    prices.filter(worker__name="thinker").update(cached_input_micros=100_000)
    snapshots_forget(shop.cast.team.id)
    ask(shop, [{"role": "user", "content": RULES}], model="worker/thinker")
    run = Run.objects.for_team(shop.cast.team.id).latest("id")
    end = run_events(run)[-1].event
    assert isinstance(end, ev.RunCompleted)
    used = end.usage
    fresh = used.prompt_tokens - used.cached_tokens
    assert used.cached_tokens == used.prompt_tokens // 2 > 0
    exact = fresh + used.cached_tokens / 10 + used.completion_tokens * 2
    assert run.cost_micros == ceil(exact)
