"""No text reaches a model unseen by the rules, whichever way it takes into a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from django.utils import timezone

from apps.engine import events as ev
from apps.governance.sensitive_data.plain_form import plain_words
from apps.runs.models import Run, Source
from apps.runs.selectors import run_events
from tests.conftest import Site
from tests.evaluation import test_ab as ab_test
from tests.evaluation import test_shadow as shadow_test
from tests.gateway.batches.test_live import ended as ended_batch
from tests.gateway.batches.test_live import question
from tests.gateway.batches.test_live import start as start_batch
from tests.gateway.embeddings.test_live import make_embedder
from tests.governance.approval_runs import HOLD, approve, pending, start
from tests.governance.test_policies import DENY_FALCON, in_force, put
from tests.rest.conftest import member
from tests.runs.test_forks import ended, planned, post

WORD = "Project Falcon"
HIDDEN = "Project\nFal\u00adcon"
"""The same word as a reader sees it."""
CARD = "4111 1111 1111 1111"
ESCAPED = json.dumps({"note": HIDDEN}).replace("P", "\\u0050")
TOOL = {"type": "function", "function": {"name": "find", "parameters": {}}}


def chat(site: Site, *messages: dict[str, Any], **fields: Any) -> httpx.Response:
    return api(site, "chat/completions", messages=list(messages), **fields)


def api(site: Site, path: str, **fields: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}"}
    body = {"model": "conductor-mini", **fields}
    return httpx.post(f"{site.api_url}/{path}", json=body, headers=headers, timeout=30)


def user(text: str = "What is 6 times 7?") -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(arguments: str, result: str) -> list[dict[str, Any]]:
    """Return a question, the call of a tool for it, and its result."""
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "find", "arguments": arguments},
    }
    return [
        user(),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]


def described(text: str) -> dict[str, Any]:
    return {"type": "function", "function": {**TOOL["function"], "description": text}}  # type: ignore[dict-item]


def schema(text: str) -> dict[str, Any]:
    fields = {"a": {"type": "string", "description": text}}
    about = {"type": "object", "properties": fields}
    return {"type": "json_schema", "json_schema": {"name": "a", "schema": about}}


def by_preset(site: Site, text: str) -> None:
    preset = post(site, "presets/", {"name": "P", "prompt": "Say {{what}}."})
    call = {"id": preset.json()["id"], "variables": {"what": text}}
    chat(site, preset=call)


def by_responses(site: Site, text: str) -> None:
    api(site, "responses", input=text)


def continued(site: Site, text: str) -> None:
    """Ask a question, and go on from its answer."""
    first = api(site, "responses", input="What is 6 times 7?").json()["id"]
    api(site, "responses", input=text, previous_response_id=first)


def by_batch(site: Site, text: str) -> None:
    with openai.OpenAI(base_url=site.api_url, api_key=site.key) as client:
        ended_batch(client, start_batch(client, question("1", text)))


def by_embeddings(site: Site, text: str) -> None:
    make_embedder(site)
    api(site, "embeddings", input=["What is 6 times 7?", text], model="worker/vectors")


def by_comparison(site: Site, text: str) -> None:
    models = ["conductor-mini", "worker/sim-birch"]
    made = post(site, "comparisons/", {"prompt": text, "models": models})
    assert made.status_code == 201, made.text
    for run in Run.objects.for_team(site.cast.team.id):
        ended(site, str(run.id))


def by_arm_b(site: Site, text: str) -> None:
    test = ab_test.start(site)
    ab_test.ask(site, ab_test.key_in(site, test, "b"), text)


WAYS: dict[str, Callable[[Site, str], object]] = {
    "prompt": lambda site, text: chat(site, user(text)),
    "system": lambda site, text: chat(
        site, {"role": "system", "content": text}, user()
    ),
    "earlier turn": lambda site, text: chat(
        site, user(text), {"role": "assistant", "content": "Well."}, user()
    ),
    "arguments": lambda site, text: chat(
        site, *called(json.dumps({"a": text}), "42"), tools=[TOOL]
    ),
    "result": lambda site, text: chat(site, *called("{}", text), tools=[TOOL]),
    "tool": lambda site, text: chat(site, user(), tools=[described(text)]),
    "stop": lambda site, text: chat(site, user(), stop=[text]),
    "schema": lambda site, text: chat(site, user(), response_format=schema(text)),
    "preset": by_preset,
    "direct": lambda site, text: chat(site, user(text), model="worker/sim-birch"),
    "messages": lambda site, text: api(
        site, "messages", messages=[user(text)], max_tokens=100
    ),
    "completions": lambda site, text: api(site, "completions", prompt=text),
    "responses": by_responses,
    "continuation": continued,
    "batch": by_batch,
    "embeddings": by_embeddings,
    "comparison": by_comparison,
    "arm of an A/B test": by_arm_b,
}


def sent(run: Run) -> str:
    """Return all that models were sent in a run."""
    events = [recorded.event for recorded in run_events(run)]
    parts = [
        e.messages for e in events if isinstance(e, ev.PlanRequested | ev.StepStarted)
    ]
    return plain_words("\n".join(parts))


def last_run(site: Site) -> Run:
    return Run.objects.for_team(site.cast.team.id).latest("id")


@pytest.mark.parametrize("text", [WORD, HIDDEN], ids=["plain", "hidden"])
@pytest.mark.parametrize("way", WAYS)
def test_a_denied_word_reaches_nobody(site: Site, way: str, text: str) -> None:
    in_force(site, DENY_FALCON)
    WAYS[way](site, text)
    assert last_run(site).error_code == "policy_denied"
    assert sent(last_run(site)) == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ESCAPED,
        json.dumps(HIDDEN).replace("P", "\\u0050"),
        ESCAPED[:-1] + ', "note": "nothing"}',
        "[" * 900 + ESCAPED + "]" * 900,
        "[" * 5_000 + ESCAPED + "]" * 5_000,
    ],
    ids=["object", "text", "name twice", "deep", "too deep"],
)
def test_escapes_in_arguments_hide_nothing(site: Site, arguments: str) -> None:
    in_force(site, DENY_FALCON)
    chat(site, *called(arguments, "42"), tools=[TOOL])
    assert last_run(site).error_code == "policy_denied"
    assert sent(last_run(site)) == ""


@pytest.mark.parametrize("edit", [{"subtask": HIDDEN}, {"answer": HIDDEN}], ids=str)
def test_what_a_fork_brings_is_judged(site: Site, edit: dict[str, str]) -> None:
    run = planned(site)
    in_force(site, DENY_FALCON)
    answer = post(site, f"runs/{run.id}/fork/", {"step": 0, **edit})
    forked = ended(site, answer.json()["id"])
    assert (forked.state, forked.error_code) == ("failed", "policy_denied")
    assert sent(forked) == ""


@pytest.mark.parametrize("field", ["subtask", "answer"])
def test_what_a_fork_brings_is_redacted_and_kept_off_the_record(
    site: Site, field: str
) -> None:
    run = planned(site)
    redact = {"kind": "redact", "kinds": ["card"], "restore": False, "off_record": True}
    in_force(site, {"name": "No cards", "effect": redact})
    answer = post(site, f"runs/{run.id}/fork/", {"step": 0, field: f"Card {CARD}"})
    forked = ended(site, answer.json()["id"])
    assert forked.state == "completed"
    record = str([each.event for each in run_events(forked)])
    assert CARD not in record
    assert "[CARD_1]" in record


def test_an_approver_cannot_write_what_a_rule_denies(site: Site) -> None:
    no_word = {**DENY_FALCON, "conditions": {"words": ["Merlin"]}}
    in_force(site, HOLD, no_word)
    alice = member(site.cast.alice)
    run_id = start(member(site.cast.bob))
    found = pending(alice, run_id)
    step = {"worker": found["workers"][-1], "subtask": "Ask Merlin.", "access": []}
    approve(alice, run_id, found["plan_digest"], steps=[step])
    run = ended(site, str(run_id))
    assert (run.state, run.error_code) == ("failed", "policy_denied")
    assert "merlin" not in sent(run)


def test_an_answer_of_a_step_is_judged_before_another_worker_reads_it(
    site: Site,
) -> None:
    run = planned(site)
    in_force(site, {**DENY_FALCON, "conditions": {"words": ["391"]}})  # 17 times 23
    edit = {"step": 0, "subtask": "Solve it."}
    answer = post(site, f"runs/{run.id}/fork/", edit)
    forked = ended(site, answer.json()["id"])
    assert (forked.state, forked.error_code) == ("failed", "policy_denied")
    assert "391" not in sent(forked)


def test_what_a_shadow_test_repeats_is_judged_again(site: Site) -> None:
    early = timezone.now().isoformat()
    chat(site, user(HIDDEN))
    in_force(site, DENY_FALCON)
    shadow_test.ended(shadow_test.start(site, since=early, max_runs=1))
    runs = Run.objects.for_team(site.cast.team.id)
    mirror = runs.get(source=Source.SHADOW)
    assert mirror.error_code == "policy_denied"
    assert sent(mirror) == ""


def test_redacted_arguments_stay_json(site: Site) -> None:
    put(
        member(site.cast.alice),
        {"name": "No cards", "effect": {"kind": "redact", "kinds": ["card"]}},
    )
    arguments = json.dumps({"card": CARD, "number": int(CARD.replace(" ", ""))})
    answer = chat(
        site, *called(arguments, "42"), tools=[TOOL], model="worker/sim-birch"
    )
    assert answer.status_code == 200, answer.text
    runs = run_events(last_run(site))
    (started,) = [e.event for e in runs if isinstance(e.event, ev.StepStarted)]
    (call,) = json.loads(started.messages)[1]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {
        "card": "[CARD_1]",
        "number": "[CARD_2]",
    }
