"""Chat completions of a preset: what it makes of its variables, and what is refused."""

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


def ask(site, key: Any = "", **body) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}"}
    if key:
        headers["Idempotency-Key"] = key
    address = f"{site.api_url}/chat/completions"
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
    own = {"temperature": 1, "conductor": {"max_time_s": 30}}
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
