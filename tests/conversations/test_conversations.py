"""Conversations over REST: turns, variants, what is left out, and whose they are."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from apps.audit.rows import verify_rows
from apps.conversations.models import Conversation, Turn
from apps.core.ids import new_id
from apps.governance.services import retention_set
from apps.runs.selectors import run_record
from tests.conftest import Site
from tests.factories import ACTOR
from tests.governance.conftest import erase, later
from tests.governance.test_data_classes import CONFIDENTIAL
from tests.governance.test_policies import decisions, in_force, tag
from tests.patience import eventually
from tests.rest.conftest import Caller, fault, member, program

ECHO = "worker/echo"


@pytest.fixture
def bob(site: Site) -> Caller:
    """A member, whose team has a worker that repeats the last message."""
    site.add_worker("echo")
    return member(site.cast.bob)


def ended(caller: Caller, turn: dict[str, Any]) -> dict[str, Any]:
    """Return a turn once its run has ended."""
    address = f"runs/{turn['run']['id']}/"
    assert eventually(lambda: caller.get(address).json()["state"] != "running")
    return turn


def begun(caller: Caller, **values: Any) -> str:
    made = caller.post("conversations/", values)
    assert made.status_code == 201, made.json()
    return str(made.json()["id"])


def said(caller: Caller, conversation: str, prompt: str, **more: Any) -> dict[str, Any]:
    body = {"model": ECHO, "prompt": prompt, **more}
    answer = caller.post(f"conversations/{conversation}/turns/", body)
    assert answer.status_code == 201, answer.json()
    return ended(caller, answer.json())


def shown(caller: Caller, conversation: str) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = caller.get(
        f"conversations/{conversation}/turns/"
    ).json()["data"]
    return turns


def messages_of(site: Site, turn: dict[str, Any]) -> list[tuple[str, Any]]:
    record = run_record(site.cast.team.id, uuid.UUID(turn["run"]["id"]))
    return [(each["role"], each["content"]) for each in record.messages]


def test_a_turn_is_asked_with_all_that_was_said_before(site, bob):
    chat = begun(bob)
    first = said(bob, chat, "one")
    second = said(bob, chat, "two")
    third = said(bob, chat, "three")
    assert messages_of(site, first) == []
    assert messages_of(site, third) == [
        ("user", "one"),
        ("assistant", "one"),
        ("user", "two"),
        ("assistant", "two"),
        ("user", "three"),
    ]
    assert second["continues"] == first["id"]
    assert third["run"]["title"] == "three"
    turns = shown(bob, chat)
    assert [turn["prompt"] for turn in turns] == ["one", "two", "three"]
    assert [turn["answer"] for turn in turns] == ["one", "two", "three"]
    assert bob.get(f"conversations/{chat}/").json()["title"] == "one"


def test_a_turn_that_is_replaced_stays_as_a_variant(site, bob):
    chat = begun(bob)
    said(bob, chat, "one")
    old = said(bob, chat, "two")
    said(bob, chat, "three")
    new = said(bob, chat, "zwei", replaces=old["id"])
    assert messages_of(site, new)[-1] == ("user", "zwei")
    turns = shown(bob, chat)
    assert [turn["prompt"] for turn in turns] == ["one", "zwei"]
    assert (turns[1]["variant"], turns[1]["variants"]) == (2, [old["id"], new["id"]])
    bob.patch(f"conversations/{chat}/", {"shown": old["id"]})
    assert [turn["prompt"] for turn in shown(bob, chat)] == ["one", "two", "three"]


def test_the_first_turn_can_be_replaced_too(site, bob):
    chat = begun(bob)
    first = said(bob, chat, "one")
    said(bob, chat, "eins", replaces=first["id"])
    assert [turn["prompt"] for turn in shown(bob, chat)] == ["eins"]
    assert len(shown(bob, chat)[0]["variants"]) == 2


def test_a_turn_is_asked_again_of_another_model(site, bob):
    chat = begun(bob)
    said(bob, chat, "one")
    second = said(bob, chat, "two")
    path = f"conversations/{chat}/turns/{second['id']}/repeat/"
    again = ended(bob, bob.post(path, {"model": "conductor-mini"}).json())
    assert messages_of(site, again) == messages_of(site, second)
    turns = shown(bob, chat)
    assert [turn["run"]["model"] for turn in turns] == [ECHO, "conductor-mini"]


def test_a_turn_without_an_answer_is_replaced_by_the_next(site, bob):
    site.add_worker("status-500")
    chat = begun(bob)
    said(bob, chat, "one")
    lost = said(bob, chat, "two", model="worker/status-500")
    next_ = said(bob, chat, "three")
    assert messages_of(site, next_) == [
        ("user", "one"),
        ("assistant", "one"),
        ("user", "three"),
    ]
    assert shown(bob, chat)[1]["variants"] == [lost["id"], next_["id"]]


def test_a_run_from_elsewhere_is_continued(site, bob):
    key = program(site.key)
    run = key.post("runs/", {"model": ECHO, "prompt": "one"}).json()
    ended(key, {"run": run})
    chat = begun(bob, run_id=run["id"], name="Taken over")
    said(bob, chat, "two")
    assert [turn["prompt"] for turn in shown(bob, chat)] == ["one", "two"]


def test_what_does_not_fit_is_left_out_and_said(site, bob, settings):
    settings.MAX_PROMPT_BYTES = 400
    chat = begun(bob)
    said(bob, chat, "a" * 150)
    said(bob, chat, "b" * 50)
    third = said(bob, chat, "c" * 50)
    assert messages_of(site, third)[:2] == [
        ("user", "[1 earlier message left out]"),
        ("assistant", "a" * 150),
    ]
    refused = bob.post(
        f"conversations/{chat}/turns/", {"model": ECHO, "prompt": "d" * 500}
    )
    assert fault(refused, 400)["code"] == "context_length_exceeded"
    assert len(shown(bob, chat)) == 3


def test_a_class_that_was_stated_holds_for_the_turns_after_it(site, bob):
    tag(site, "echo", "eu")
    in_force(site, CONFIDENTIAL)
    chat = begun(bob)
    said(bob, chat, "one", conductor={"data_class": "confidential"})
    second = said(bob, chat, "two")
    assert decisions(site)[0].data_class == "confidential"
    said(bob, chat, "three", conductor={"data_class": "public"})
    assert decisions(site)[0].data_class == "confidential"
    said(bob, chat, "zwei", replaces=second["id"])
    assert decisions(site)[0].data_class == "confidential"
    page = bob.client.get(f"/conversations/{chat}/").content.decode()
    assert '<option value="confidential" selected>' in page


def test_g1_a_turn_whose_run_never_came_on_record_is_passed_over(site, bob):
    chat = begun(bob)
    first = said(bob, chat, "one")
    conversation = Conversation.objects.across_teams().get(id=chat)
    lost = Turn.objects.create(
        conversation=conversation, run_id=new_id(), continues=conversation.shown
    )
    conversation.shown = lost  # as if the process had died before the run began
    conversation.save()
    second = said(bob, chat, "two")
    assert second["continues"] == first["id"]
    assert [turn["prompt"] for turn in shown(bob, chat)] == ["one", "two"]


def test_names_folders_pins_search_and_order(site, bob):
    plain = begun(bob)
    said(bob, plain, "the price of tea")
    pinned = begun(bob, name="Second", folder="Work", is_pinned=True)
    listed = bob.get("conversations/").json()["data"]
    assert [each["title"] for each in listed] == ["Second", "the price of tea"]
    found = bob.get("conversations/?query=TEA").json()["data"]
    assert [each["id"] for each in found] == [plain]
    filed = bob.get("conversations/?folder=Work").json()["data"]
    assert [each["id"] for each in filed] == [pinned]
    changed = bob.patch(f"conversations/{pinned}/", {"name": "", "is_pinned": False})
    assert changed.json()["title"] == "New conversation"


def found_by(caller: Caller, query: str) -> list[str]:
    listed = caller.get(f"conversations/?query={query}").json()["data"]
    return [each["id"] for each in listed]


def test_a_word_of_any_turn_finds_a_conversation(site, bob):
    chat = begun(bob, folder="Work")
    said(bob, chat, "the price of tea")
    said(bob, chat, f"{'and so on ' * 20} until the harbour")
    other = begun(bob)
    said(bob, other, "coffee")
    assert found_by(bob, "harbour") == [chat]
    assert found_by(bob, "harbour+coffee") == []
    assert found_by(bob, "harbour&folder=Home") == []
    assert found_by(bob, "%3F") == []
    assert found_by(member(site.cast.alice), "harbour") == []
    page = bob.client.get("/?query=harbour").content.decode()
    assert f"/conversations/{chat}/" in page
    assert f"/conversations/{other}/" not in page


def test_a_search_shows_the_line_that_was_found(site, bob):
    chat = begun(bob, name="Ships")
    said(bob, chat, "First.\n\nThe <b>harbour</b> of Genoa is full of ships.\nLast.")
    page = bob.client.get("/?query=harbour").content.decode()
    line = "The &lt;b&gt;<mark>harbour</mark>&lt;/b&gt; of Genoa is full of ships."
    assert line in page
    named = bob.client.get("/?query=Ships+Genoa").content.decode()
    assert "full of <mark>" not in named, "the first word of the line is marked"
    assert "<mark>Genoa</mark> is full of ships." in named
    assert "<mark>" not in bob.client.get("/?query=Ship").content.decode()


def test_a_search_says_what_it_did_not_look_at(site, bob, monkeypatch):
    chat = begun(bob)
    said(bob, chat, "one")
    said(bob, chat, "two")
    monkeypatch.setattr("apps.runs.search.matching.RUNS_READ", 1)
    answer = bob.get("conversations/?query=two")
    assert answer["Search-Gaps"] == "newest"
    page = bob.client.get("/?query=two").content.decode()
    assert "still being indexed" in page


def test_older_conversations_are_listed_on_request(site, bob, monkeypatch):
    monkeypatch.setattr("apps.playground.conversation_views.LISTED", 1)
    first, second = begun(bob), begun(bob)
    page = bob.client.get("/").content.decode()
    assert f"/conversations/{first}/" not in page
    assert "Show more" in page
    whole = bob.client.get("/?chats=all").content.decode()
    assert f"/conversations/{first}/" in whole
    assert f"/conversations/{second}/" in whole
    assert "Show more" not in whole


def test_g13_a_name_is_erased_with_the_first_prompt(site, bob):
    chat = begun(bob, name="Salaries of the board")
    said(bob, chat, "one")
    retention_set(team=site.cast.team, days=183, actor=ACTOR)
    erase(later(184))
    assert bob.get(f"conversations/{chat}/").json()["title"] == "New conversation"
    (turn,) = shown(bob, chat)
    assert (turn["prompt"], turn["answer"]) == ("", "")
    body = {"model": ECHO, "prompt": "two"}
    refused = bob.post(f"conversations/{chat}/turns/", body)
    assert "erased" in fault(refused, 409)["message"]


def test_a_deleted_conversation_leaves_its_runs(site, bob):
    chat = begun(bob)
    turn = said(bob, chat, "one")
    assert bob.delete(f"conversations/{chat}/").status_code == 204
    assert bob.get(f"conversations/{chat}/").status_code == 404
    assert bob.get(f"runs/{turn['run']['id']}/").json()["answer"] == "one"


@pytest.mark.parametrize("name", ["alice", "vera", "mallory"])
def test_g15_a_conversation_is_its_owners(site, bob, name):
    chat = begun(bob)
    turn = said(bob, chat, "one")
    other = member(getattr(site.cast, name))
    calls = [
        other.get(f"conversations/{chat}/"),
        other.get(f"conversations/{chat}/turns/"),
        other.patch(f"conversations/{chat}/", {"name": "Mine"}),
        other.delete(f"conversations/{chat}/"),
        other.post(f"conversations/{chat}/turns/", {"model": ECHO, "prompt": "x"}),
        other.post(f"conversations/{chat}/turns/{turn['id']}/repeat/", {}),
    ]
    assert {answer.status_code for answer in calls} <= {403, 404}
    assert other.get("conversations/").json()["data"] == []
    assert len(shown(bob, chat)) == 1


def test_bad_requests_name_what_is_wrong(site, bob):
    chat, other = begun(bob), begun(bob)
    turn = said(bob, chat, "one")
    path = f"conversations/{chat}/turns/"
    body = {"model": ECHO, "prompt": "x"}
    both = {**body, "continues": turn["id"], "replaces": turn["id"]}
    assert fault(bob.post(path, both), 400)["param"] == "replaces"
    elsewhere = {**body, "continues": turn["id"]}
    assert bob.post(f"conversations/{other}/turns/", elsewhere).status_code == 404
    unknown = {**body, "replaces": str(new_id())}
    assert bob.post(path, unknown).status_code == 404
    assert bob.post(path, {**body, "model": "worker/none"}).status_code == 404
    assert bob.patch(f"conversations/{chat}/", {"name": "a\x07"}).status_code == 400
    assert len(shown(bob, chat)) == 1


def greeting(caller: Caller, **values: Any) -> str:
    preset = {
        "name": "Greet",
        "prompt": "Say hello to {{name}}.",
        "settings": {"model": ECHO, "temperature": 0.5},
        **values,
    }
    made = caller.post("presets/", preset)
    assert made.status_code == 201, made.json()
    return str(made.json()["id"])


def test_a_turn_is_made_of_a_preset_and_its_run_names_it(site, bob):
    chat, preset = begun(bob), greeting(bob, system="Be brief.")
    said(bob, chat, "one")
    call = {"id": preset, "variables": {"name": "Bob"}}
    answer = bob.post(f"conversations/{chat}/turns/", {"preset": call})
    assert answer.status_code == 201, answer.json()
    turn = ended(bob, answer.json())
    assert messages_of(site, turn) == [
        ("system", "Be brief."),
        ("user", "one"),
        ("assistant", "one"),
        ("user", "Say hello to Bob."),
    ]
    used = {"id": preset, "version": 1, "is_edited": False}
    assert bob.get(f"runs/{turn['run']['id']}/").json()["preset"] == used
    record = run_record(site.cast.team.id, uuid.UUID(turn["run"]["id"]))
    assert record.params["temperature"] == 0.5
    assert shown(bob, chat)[-1]["prompt"] == "Say hello to Bob."


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"preset": {"variables": {}}}, 400, "preset.variables"),
        ({"preset": {"variables": {"name": "a"}}, "prompt": "Hi"}, 400, "prompt"),
        ({"preset": {"version": 7, "variables": {"name": "a"}}}, 404, None),
        ({"prompt": "Hi"}, 400, "model"),
        ({"model": ECHO}, 400, "prompt"),
    ],
)
def test_a_turn_has_a_prompt_or_a_preset(bob, body, status, param):
    chat, preset = begun(bob), greeting(bob)
    if "preset" in body:
        body = {**body, "preset": {"id": preset, **body["preset"]}}
    error = fault(bob.post(f"conversations/{chat}/turns/", body), status)
    assert error["param"] == param
    assert shown(bob, chat) == []


def test_the_record_of_a_follow_up_verifies(site, bob):
    chat = begun(bob)
    said(bob, chat, "one")
    second = uuid.UUID(said(bob, chat, "two")["run"]["id"])
    assert verify_rows(site.cast.team.id, second).faults == []
