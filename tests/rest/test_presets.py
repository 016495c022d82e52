"""Presets over REST: kept in versions, shared, and used by runs."""

from __future__ import annotations

import uuid

import orjson
import pytest

from apps.accounts.models import Scope
from apps.audit.rows import verify_rows
from apps.presets.templates import MOST_PLACES, Template
from apps.runs.selectors import run_record
from tests.rest.conftest import actions, fault, keyed, member, program
from tests.rest.test_runs import ended

ECHO = "worker/echo"
SENT = {
    "name": "Greet",
    "prompt": "Say hello to {{name}} in {{language|English}}.",
    "system": "Be brief.",
    "settings": {
        "model": ECHO,
        "temperature": 0.5,
        "max_steps": 2,
        "max_cost_usd": "0.05",
        "max_time_s": 60,
        "data_class": "internal",
    },
}


def made(caller, **values):
    answer = caller.post("presets/", {**SENT, **values})
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_a_preset_is_created_read_and_listed(bob):
    answer = bob.post("presets/", {**SENT, "description": "Says hello"})
    told = answer.json()
    assert answer["Location"].endswith(f"/api/v1/presets/{told['id']}/")
    assert told["settings"] == SENT["settings"]
    assert told["variables"] == [
        {"name": "name", "default": None},
        {"name": "language", "default": "English"},
    ]
    assert (told["version"], told["is_shared"], told["may_change"]) == (1, False, True)
    assert bob.get(f"presets/{told['id']}/").json() == told
    (listed,) = bob.get("presets/?query=hello bob").json()["data"]
    assert listed["id"] == told["id"] and "prompt" not in listed
    assert bob.get("presets/?query=nothing").json()["data"] == []


@pytest.mark.parametrize(
    ("values", "param"),
    [
        ({"prompt": "Hello {{name"}, "prompt"),
        ({"prompt": " "}, "prompt"),
        ({"name": " "}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"settings": {"temperature": 3}}, "settings.temperature"),
        ({"settings": {"max_cost_usd": 1}}, "settings.max_cost_usd"),
        ({"settings": {"modle": "x"}}, "settings.modle"),
        ({"is_archived": True}, "is_archived"),
        ({"owner": "x"}, "owner"),
    ],
)
def test_bad_values_are_refused_by_their_name(bob, values, param):
    assert fault(bob.post("presets/", {**SENT, **values}), 400)["param"] == param
    assert bob.get("presets/").json()["data"] == []


def test_a_text_is_no_longer_than_a_prompt_may_be(bob, settings):
    settings.MAX_PROMPT_BYTES = 10
    for name in ("prompt", "system"):
        values = {"prompt": "a", "system": "", name: "a" * 11}
        error = fault(bob.post("presets/", {**SENT, **values}), 400)
        assert (error["param"], "11 bytes" in error["message"]) == (name, True)


def test_other_texts_make_a_version_and_others_do_not(bob, cast):
    preset = made(bob)
    path = f"presets/{preset['id']}/"
    assert bob.patch(path, {"name": "Welcome"}).json()["version"] == 1
    assert bob.patch(path, {"prompt": SENT["prompt"]}).json()["version"] == 1
    told = bob.patch(path, {"prompt": "Hi {{name}}"}).json()
    assert (told["version"], told["system"]) == (2, "Be brief.")
    assert bob.patch(path, {"settings": {}}).json()["settings"]["model"] == ""
    versions = bob.get(f"{path}versions/").json()["data"]
    assert [each["version"] for each in versions] == [3, 2, 1]
    assert bob.get(f"{path}versions/1/").json() == versions[2]
    assert versions[2]["prompt"] == SENT["prompt"]
    assert fault(bob.get(f"{path}versions/9/"), 404)
    fault(bob.patch(path, {}), 400)
    told = bob.post(f"{path}versions/1/restore/").json()
    assert (told["version"], told["prompt"]) == (4, SENT["prompt"])
    fault(bob.post(f"{path}versions/4/restore/"), 409)
    assert actions(cast.team)[-2:] == ["preset.version_created"] * 2


def test_a_change_of_an_older_version_is_refused(bob):
    preset = made(bob)
    path = f"presets/{preset['id']}/"
    assert bob.patch(path, {"prompt": "Two", "version": 1}).json()["version"] == 2
    error = fault(bob.patch(path, {"prompt": "Late", "version": 1}), 409)
    assert error["message"] == "version 2 was saved meanwhile, by Bob"
    assert bob.get(path).json()["prompt"] == "Two"
    assert (
        fault(bob.post("presets/", {**SENT, "version": 1}), 400)["param"] == "version"
    )


def test_what_changes_is_on_record_without_its_texts(bob, alice, cast):
    preset = made(bob, name="CANARY", system="CANARY")
    path = f"presets/{preset['id']}/"
    for change in ("is_shared", "is_archived"):
        for value in (True, False):
            assert bob.patch(path, {change: value}).json()[change] is value
    assert bob.delete(path).status_code == 204
    words = ["created", "shared", "unshared", "archived", "unarchived", "deleted"]
    assert actions(cast.team)[-6:] == [f"preset.{word}" for word in words]
    entries = alice.get("ledger/").json()["data"][:6]
    assert "CANARY" not in str([each["data"] for each in entries])
    (digest,) = {e["data"]["digest"] for e in entries if "digest" in e["data"]}
    assert len(digest) == 64


def test_members_see_what_is_shared_and_change_what_is_theirs(
    alice, bob, vera, mallory, cast
):
    preset = made(alice)
    path = f"presets/{preset['id']}/"
    for caller in (bob, vera, mallory, program(cast.key.secret)):
        fault(caller.get(path), 404)
    alice.patch(path, {"is_shared": True})
    assert vera.get(path).json()["may_change"] is False
    fault(mallory.get(path), 404)
    fault(bob.patch(path, {"name": "Mine"}), 403)
    fault(bob.delete(path), 403)
    fault(vera.post(f"{path}copy/"), 403)
    copied = bob.post(f"{path}copy/").json()
    assert (copied["name"], copied["owner"]["name"]) == ("Greet (copy)", "Bob")
    assert (copied["prompt"], copied["is_shared"]) == (SENT["prompt"], False)
    fault(alice.get(f"presets/{copied['id']}/"), 404)
    shared = made(bob, is_shared=True)
    assert alice.patch(f"presets/{shared['id']}/", {"name": "Ours"}).status_code == 200


def test_a_key_has_presets_of_its_own_and_changes_no_others(alice, cast):
    key = keyed(cast.team, Scope.RUN)
    mine = made(key)
    assert key.patch(f"presets/{mine['id']}/", {"name": "Mine"}).status_code == 200
    shared = made(alice, is_shared=True)
    assert key.get(f"presets/{shared['id']}/").json()["may_change"] is False
    fault(key.patch(f"presets/{shared['id']}/", {"name": "Mine"}), 403)
    fault(keyed(cast.team, Scope.READ).post("presets/", SENT), 403)
    assert alice.get(f"presets/{mine['id']}/").json()["may_change"] is True


@pytest.fixture
def caller(site):
    site.add_worker("echo")
    return program(site.key)


def test_a_run_is_made_of_a_preset_and_names_it(site, caller):
    preset = made(caller)
    call = {"id": preset["id"], "variables": {"name": "Bob"}}
    started = caller.post("runs/", {"preset": call})
    assert started.status_code == 201, started.content
    run = ended(caller, started.json()["id"])
    assert run["prompt"].endswith("Say hello to Bob in English.")
    assert run["model"] == ECHO
    used = {"id": preset["id"], "version": 1, "is_edited": False}
    assert run["preset"] == used
    record = run_record(site.cast.team.id, uuid.UUID(run["id"]))
    assert record.params["temperature"] == 0.5
    assert record.params["narrowing"] == {
        "max_steps": 2,
        "max_cost_micros": 50_000,
        "max_time_s": 60,
        "data_class": "internal",
    }
    assert record.messages[0] == {"role": "system", "content": "Be brief."}
    again = caller.post(f"runs/{run['id']}/rerun/").json()
    assert ended(caller, again["id"])["preset"] == used


def test_what_a_request_says_itself_counts_before_the_preset(site, caller):
    preset = made(caller)
    caller.patch(f"presets/{preset['id']}/", {"prompt": "Newer"})
    call = {"id": preset["id"], "version": 1, "variables": {"name": "Bob"}}
    own = {"temperature": 1, "system": "", "conductor": {"max_time_s": 30}}
    told = caller.post("runs/", {"preset": call, **own}).json()
    run = ended(caller, told["id"])
    assert run["prompt"] == "Say hello to Bob in English."
    assert run["preset"]["version"] == 1
    record = run_record(site.cast.team.id, uuid.UUID(run["id"]))
    assert record.params["temperature"] == 1
    assert record.params["narrowing"]["max_time_s"] == 30
    assert record.params["narrowing"]["max_steps"] == 2


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        ({"variables": {}}, 400, "no value is given for 'name'"),
        ({"variables": {"name": "a", "nmae": "b"}}, 400, "no variable 'nmae'; it has"),
        ({"variables": {"name": 1}}, 400, "Not a valid string."),
        ({"version": 7, "variables": {"name": "a"}}, 404, "no version 7"),
        ({"id": str(uuid.uuid4())}, 404, "there is no preset"),
        ({"id": "x"}, 400, "Must be a valid UUID."),
    ],
)
def test_a_wrong_use_is_refused_with_the_reason(caller, call, status, words):
    preset = made(caller)
    error = fault(
        caller.post("runs/", {"preset": {"id": preset["id"], **call}}), status
    )
    assert words in error["message"]


def test_a_prompt_too_long_is_refused_before_it_is_made(caller, monkeypatch):
    preset = made(caller, prompt="{{a}}" * MOST_PLACES)
    monkeypatch.setattr(Template, "fill", lambda *_: pytest.fail("the text was made"))
    call = {"id": preset["id"], "variables": {"a": "é" * 100_000}}
    error = fault(caller.post("runs/", {"preset": call}), 400)
    assert error["param"] == "preset.variables"
    assert "the prompt has 100,000,000 bytes; at most" in error["message"]


def test_a_run_has_a_prompt_or_a_preset_and_a_model(caller):
    preset = made(caller, settings={})
    call = {"id": preset["id"], "variables": {"name": "Bob"}}
    error = fault(caller.post("runs/", {"preset": call, "prompt": "Hi"}), 400)
    assert error["param"] == "prompt"
    assert fault(caller.post("runs/", {"preset": call}), 400)["param"] == "model"
    error = fault(caller.post("runs/", {}), 400)
    assert set(error["fields"]) == {"model", "prompt"}
    assert caller.post("runs/", {"preset": call, "model": ECHO}).status_code == 201


def test_an_archived_preset_is_used_by_no_run(caller):
    preset = made(caller)
    caller.patch(f"presets/{preset['id']}/", {"is_archived": True})
    call = {"id": preset["id"], "variables": {"name": "Bob"}}
    assert (
        "is archived" in fault(caller.post("runs/", {"preset": call}), 409)["message"]
    )
    assert caller.get("presets/").json()["data"] == []
    (listed,) = caller.get("presets/?archived=true").json()["data"]
    assert listed["is_archived"] is True


def test_nobody_runs_a_preset_that_they_do_not_see(site, caller):
    preset = made(member(site.cast.alice))
    call = {"id": preset["id"], "variables": {"name": "Bob"}}
    fault(caller.post("runs/", {"preset": call}), 404)
    fault(member(site.cast.mallory).post("runs/", {"preset": call}), 404)


def test_runs_are_listed_and_exported_by_their_preset(site, caller, alice):
    preset = made(caller)
    call = {"id": preset["id"], "variables": {"name": "Bob"}}
    run = ended(caller, caller.post("runs/", {"preset": call}).json()["id"])
    other = caller.post("runs/", {"model": ECHO, "prompt": "Hi"}).json()
    assert (run["preset_id"], other["preset_id"]) == (preset["id"], None)
    (listed,) = caller.get(f"runs/?preset={preset['id']}").json()["data"]
    assert (listed["id"], listed["preset_id"]) == (run["id"], preset["id"])
    fault(caller.get("runs/?preset=Greet"), 400)
    asked = f"runs/export/?file=jsonl&preset={preset['id']}"
    lines = alice.get(asked).getvalue().splitlines()
    assert [orjson.loads(line)["preset_id"] for line in lines] == [preset["id"]]
    assert verify_rows(site.cast.team.id, uuid.UUID(run["id"])).faults == []
