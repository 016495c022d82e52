"""Settings of a prompt: sent with it, kept by its conversation, shown with its run."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from django.test import Client

from apps.runs.selectors import run_record
from apps.runs.types import RunRecord
from tests.conftest import Site
from tests.conversations.test_conversations import ECHO, begun, ended, said
from tests.rest.conftest import member

SETTINGS = {
    "system": "Answer in\nFrench.",
    "temperature": "0.25",
    "max_steps": "2",
    "max_cost": "0.05",
    "max_time_s": "30",
}
NARROWED = {"max_steps": 2, "max_cost_micros": 50_000, "max_time_s": 30}


@dataclass
class Chat:
    """A conversation of bob's in his browser."""

    site: Site
    browser: Client
    page: str = ""

    def say(self, prompt: str, **fields: str) -> RunRecord:
        answer = self.browser.post(
            "/playground/runs/",
            {"prompt": prompt, "worker": ECHO, **fields},
            headers={"Accept": "application/json"},
        )
        assert answer.status_code == 201, answer.content
        self.page = answer.json()["url"].removesuffix("#now")
        run_id = answer.json()["id"]
        ended(member(self.site.cast.bob), {"run": {"id": run_id}})
        return run_record(self.site.cast.team.id, uuid.UUID(run_id))

    @property
    def id(self) -> str:
        return self.page.strip("/").rpartition("/")[2]

    @property
    def html(self) -> str:
        return self.browser.get(self.page).content.decode()


@pytest.fixture
def chat(site: Site, client: Client) -> Chat:
    site.add_worker("echo")
    client.force_login(site.cast.bob)
    return Chat(site, client)


def test_settings_reach_the_run(chat):
    record = chat.say("Bonjour?", **SETTINGS)
    assert [(m["role"], m["content"]) for m in record.messages] == [
        ("system", "Answer in\nFrench."),
        ("user", "Bonjour?"),
    ]
    assert record.params["temperature"] == 0.25
    assert record.params["narrowing"] == NARROWED


def test_the_conversation_remembers_them(chat):
    chat.say("Bonjour?", **SETTINGS)
    assert ">\nAnswer in\nFrench.</textarea>" in chat.html
    for shown in ('value="0.25"', 'value="0.05"', 'value="30"', "· 5 set"):
        assert shown in chat.html
    assert f'<option value="{ECHO}" selected>' in chat.html


def test_a_follow_up_has_the_system_prompt_of_its_own_settings(chat):
    chat.say("Bonjour?", **SETTINGS)
    record = chat.say("Hello?", conversation=chat.id, system="Answer in English.")
    roles = [(m["role"], m["content"]) for m in record.messages]
    assert roles[0] == ("system", "Answer in English.")
    assert [role for role, _ in roles].count("system") == 1
    record = chat.say("Hallo?", conversation=chat.id)
    assert "system" not in [m["role"] for m in record.messages]


def test_the_page_of_the_run_shows_them(chat):
    record = chat.say("Bonjour?", **SETTINGS)
    page = chat.browser.get(f"/runs/{record.run_id}/").content.decode()
    for line in ("Temperature: 0.25", "Max steps: 2", "$0.05", "Time limit: 30.0 s"):
        assert line in page
    assert "<summary>System prompt</summary>" in page


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("temperature", "3", "less than or equal to 2"),
        ("max_steps", "0", "greater than or equal to 1"),
        ("max_cost", "cheap", "Write the cost limit in dollars, for example 0.05."),
        ("max_cost", "0", "Write the cost limit in dollars, for example 0.05."),
        ("max_time_s", "soon", "Enter a whole number."),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_name(chat, field, value, reason):
    answer = chat.browser.post(
        "/playground/runs/",
        {"prompt": "Hi", field: value},
        headers={"Accept": "application/json"},
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == field
    assert reason in answer.json()["error"]["message"]


def test_over_rest_the_system_prompt_stays_until_it_is_replaced(chat):
    bob = member(chat.site.cast.bob)
    made = begun(bob)
    said(bob, made, "one", system="Be brief.", temperature=0.5)
    second = said(bob, made, "two", conductor={"max_time_s": 20})
    third = said(bob, made, "three", system="")
    team = chat.site.cast.team.id
    kept, dropped = (
        run_record(team, uuid.UUID(turn["run"]["id"])) for turn in (second, third)
    )
    assert kept.messages[0] == {"role": "system", "content": "Be brief."}
    assert kept.params["narrowing"] == {"max_time_s": 20}
    assert dropped.messages[0]["role"] == "user"


def test_a_run_over_rest_can_have_a_system_prompt(chat):
    bob = member(chat.site.cast.bob)
    body = {"model": ECHO, "prompt": "one", "system": "Be brief."}
    made = bob.post("runs/", body)
    assert made.status_code == 201, made.json()
    ended(bob, {"run": made.json()})
    record = run_record(chat.site.cast.team.id, uuid.UUID(made.json()["id"]))
    assert [m["role"] for m in record.messages] == ["system", "user"]
