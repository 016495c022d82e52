"""Presets under /v1: what they make of their variables, and what is refused."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.runs.models import Run
from apps.runs.selectors import run_record, run_view
from tests.rest.conftest import program

PROMPT = "Say hello to {{name}} in {{language|English}}."
SETTINGS = {"model": "worker/echo", "temperature": 0.5, "max_time_s": 60}


@pytest.fixture
def preset(site):
    site.add_worker("echo")
    values = {"name": "Greet", "prompt": PROMPT, "system": "Be brief."}
    answer = program(site.key).post("presets/", {**values, "settings": SETTINGS})
    assert answer.status_code == 201
    return answer.json()["id"]


def ask(site, key: Any = "", path: str = "chat/completions", **body) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}"}
    if key:
        headers["Idempotency-Key"] = key
    address = f"{site.api_url}/{path}"
    return httpx.post(address, json=body, headers=headers, timeout=30)


def test_a_completion_is_made_of_a_preset(site, preset):
    call = {"id": preset, "variables": {"name": "{{language}}"}}
    answer = ask(site, preset=call, messages=[])
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(site.cast.team.id).get()
    record = run_record(run.team_id, run.id)
    assert [each["content"] for each in record.messages] == [
        "Be brief.",
        "Say hello to {{language}} in English.",
    ]
    assert record.params["temperature"] == 0.5
    assert record.params["narrowing"] == {"max_time_s": 60}
    assert run.model == "worker/echo"
    use = run_view(run).preset
    assert use is not None
    assert (str(use.preset_id), use.version, use.is_edited) == (preset, 1, False)
    assert "x-conductor-ignored" not in answer.headers


def test_what_the_request_says_itself_counts(site, preset):
    call = {"id": preset, "version": 1, "variables": {"name": "Bob"}}
    own: dict[str, Any] = {"temperature": 1, "conductor": {"max_time_s": 30}}
    answer = ask(site, preset=call, model="conductor-mini", **own)
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(site.cast.team.id).get()
    record = run_record(run.team_id, run.id)
    assert run.model == "conductor-mini"
    assert record.params["temperature"] == 1
    assert record.params["narrowing"] == {"max_time_s": 30}


def test_null_takes_no_limit_of_the_preset_away(site, preset):
    path, limits = f"presets/{preset}/", {"max_time_s": 60, "data_class": "internal"}
    program(site.key).patch(path, {"settings": {"model": "worker/echo", **limits}})
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = ask(site, preset=call, conductor=dict.fromkeys(limits))
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(site.cast.team.id).get()
    assert run_record(run.team_id, run.id).params["narrowing"] == limits


@pytest.mark.parametrize("is_streamed", [False, True])
def test_G8_a_repeated_request_needs_its_preset_no_more(site, preset, is_streamed):
    call = {"id": preset, "variables": {"name": "Bob"}}
    body: dict[str, Any] = {"preset": call, "stream": is_streamed}
    first = ask(site, key="k-1", **body)
    assert first.status_code == 200, first.text
    changes = [{"prompt": "{{other}}"}, {"is_archived": True}]
    for change in changes:
        program(site.key).patch(f"presets/{preset}/", change)
        again = ask(site, key="k-1", **body)
        assert again.status_code == 200, again.text
        assert again.headers["idempotent-replayed"] == "true"
        assert '"model":"worker/echo"' in again.text
        if not is_streamed:
            assert again.json() == first.json()
    program(site.key).delete(f"presets/{preset}/")
    assert ask(site, key="k-1", **body).status_code == 200
    assert ask(site, key="k-2", **body).status_code == 404
    assert ask(site, key="k-1", **body, temperature=1).status_code == 422
    assert Run.objects.for_team(site.cast.team.id).count() == 1


@pytest.mark.parametrize(
    ("call", "more", "status", "words"),
    [
        ({}, {}, 400, "no value is given for 'name'"),
        ({"variables": {"nmae": "a"}}, {}, 400, "no variable 'nmae'"),
        ({"variables": {"name": 1}}, {}, 400, "preset.variables.name"),
        ({"version": 7}, {}, 404, "no version 7"),
        ({"version": 0}, {}, 400, "preset.version"),
        ({"id": "x"}, {}, 400, "preset.id: expected the id of a preset"),
        ({"vars": {}}, {}, 400, "preset.vars: there is no such field"),
        ({}, {"messages": [{"role": "user", "content": "Hi"}]}, 400, "one of the two"),
    ],
)
def test_a_wrong_use_is_refused_with_the_reason(
    site, preset, call, more, status, words
):
    answer = ask(site, preset={"id": preset, **call}, **more)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["error"]["message"]
    assert not Run.objects.for_team(site.cast.team.id).exists()


FORMS: dict[str, dict[str, Any]] = {
    "chat/completions": {},
    "completions": {},
    "responses": {},
    "messages": {"max_tokens": 100},
}
"""What requests of each protocol need beside a preset."""


@pytest.mark.parametrize("path", FORMS)
def test_every_protocol_makes_the_same_run_of_a_preset(site, preset, path):
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = ask(site, path=path, preset=call, **FORMS[path])
    assert answer.status_code == 200, answer.text
    assert "x-conductor-ignored" not in answer.headers
    run = Run.objects.for_team(site.cast.team.id).get()
    record = run_record(run.team_id, run.id)
    assert [(each["role"], each["content"]) for each in record.messages] == [
        ("system", "Be brief."),
        ("user", "Say hello to Bob in English."),
    ]
    assert record.params["temperature"] == 0.5
    assert record.params["narrowing"] == {"max_time_s": 60}
    assert run.model == "worker/echo"
    use = run_view(run).preset
    assert use is not None
    assert (str(use.preset_id), use.version, use.is_edited) == (preset, 1, False)


@pytest.mark.parametrize("path", FORMS)
def test_a_repeated_request_of_any_protocol_needs_its_preset_no_more(
    site, preset, path
):
    call = {"id": preset, "variables": {"name": "Bob"}}
    body = {"path": path, "preset": call, **FORMS[path]}
    first = ask(site, key="k-1", **body)
    program(site.key).delete(f"presets/{preset}/")
    again = ask(site, key="k-1", **body)
    assert again.status_code == 200, again.text
    assert again.json() == first.json()
    assert ask(site, key="k-2", **body).status_code == 404


@pytest.mark.parametrize("path", FORMS)
def test_every_protocol_refuses_wrong_uses_alike(site, preset, path):
    question = {"completions": "prompt", "responses": "input"}.get(path, "messages")
    asked = {question: [{"role": "user", "content": "Hi"}]}
    call = {"id": preset, "variables": {"name": "Bob"}}
    for given, more, words in (
        ({**call, "variables": {}}, {}, "no value is given for 'name'"),
        ({**call, "id": "x"}, {}, "preset.id: expected the id of a preset"),
        (call, asked, f"{question}: a preset makes the {question}"),
    ):
        answer = ask(site, path=path, preset=given, **FORMS[path], **more)
        assert answer.status_code == 400, answer.text
        assert words in answer.json()["error"]["message"]
    assert not Run.objects.for_team(site.cast.team.id).exists()


@pytest.mark.parametrize(
    ("path", "own"), [("responses", "instructions"), ("messages", "system")]
)
def test_a_system_prompt_of_the_request_counts(site, preset, path, own):
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = ask(site, path=path, preset=call, **{own: "Shout."}, **FORMS[path])
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(site.cast.team.id).get()
    assert run_record(run.team_id, run.id).messages[0]["content"] == "Shout."


def test_a_preset_continues_a_response(site, preset):
    first = ask(site, path="responses", model="worker/echo", input="Hi")
    call = {"id": preset, "variables": {"name": "Bob"}}
    before = first.json()["id"]
    answer = ask(site, path="responses", preset=call, previous_response_id=before)
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(site.cast.team.id).latest("id")
    said = [each["role"] for each in run_record(run.team_id, run.id).messages]
    assert said == ["system", "user", "assistant", "user"]


def test_a_message_is_as_hot_as_its_preset(site, preset):
    hot = {"model": "worker/echo", "temperature": 1.5}
    program(site.key).patch(f"presets/{preset}/", {"settings": hot})
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = ask(site, path="messages", preset=call, **FORMS["messages"])
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(site.cast.team.id).get()
    assert run_record(run.team_id, run.id).params["temperature"] == 1.5


@pytest.mark.parametrize("path", ["messages/count_tokens", "responses/input_tokens"])
def test_the_tokens_of_a_preset_are_counted(site, preset, path):
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = ask(site, path=path, preset=call)
    assert answer.status_code == 200, answer.text
    assert answer.json()["input_tokens"] > 5


def test_a_conversation_to_compact_is_not_made_by_a_preset(site, preset):
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = ask(site, path="responses/compact", preset=call, model="worker/echo")
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["param"] == "preset"
