"""Share links: who makes them, and what they show."""

from __future__ import annotations

import logging
from datetime import timedelta

import orjson
import pytest
import time_machine
from django.apps import apps
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Role, Scope
from apps.audit.models import Content, Entry
from apps.conversations.models import Turn
from apps.core.logs import Formatter
from apps.governance.services import retention_set
from apps.sharing.models import ShareLink
from apps.sharing.services import sharing_set
from tests.conftest import membership
from tests.factories import ACTOR
from tests.governance.conftest import erase, later
from tests.playground import stories
from tests.rest.conftest import actions, fault, keyed, member
from tests.rest.things import make_run
from tests.sharing.conftest import (
    entries,
    opened,
    path_of,
    record_run,
    shared,
    shared_chat,
    works,
)

CARD = "Charge 4111 1111 1111 1111 please."
SUBTASK = "Weigh both lists and recommend one"


# --- what visitors see ---------------------------------------------------------------


def test_anyone_reads_the_prompt_and_the_answer(bob, run_id):
    page = opened(shared(bob, run_id)).content.decode()
    assert stories.PROMPT in page
    assert "<strong>Use PostgreSQL</strong>" in page
    assert "<table>" in page


def test_the_page_tells_nothing_of_the_team(bob, run_id):
    page = opened(shared(bob, run_id, note="For Carol", has_plan=True)).content.decode()
    for hidden in (
        "Orchestra",
        "Bob",
        "For Carol",
        "$",
        " tokens",
        "house",
        str(run_id),
    ):
        assert hidden not in page, hidden
    assert "conductor-7b" not in page
    assert stories.REASONING not in page


def test_plan_and_steps_are_shown_if_so_chosen(bob, run_id):
    plain = opened(shared(bob, run_id)).content.decode()
    assert SUBTASK not in plain
    assert "claude-sonnet-4" not in plain
    page = opened(shared(bob, run_id, has_plan=True)).content.decode()
    assert SUBTASK in page
    assert "claude-sonnet-4" in page
    assert "<svg" in page


def test_the_name_is_shown_if_so_chosen(bob, run_id):
    page = opened(shared(bob, run_id, has_name=True)).content.decode()
    assert "by <bdi>Bob</bdi>" in page


def test_g17_the_page_leaves_no_trace(bob, run_id):
    visitor = Client()
    visitor.cookies["sessionid"] = "made-up"
    link = shared(bob, run_id)
    for page in (opened(link, visitor), visitor.get("/shared/none/")):
        assert page["Cache-Control"] == "no-store"
        assert page["Referrer-Policy"] == "no-referrer"
        assert "noindex" in page["X-Robots-Tag"]
        policy = page["Content-Security-Policy"]
        assert "script-src 'none'" in policy
        assert "default-src 'none'" in policy
        assert "<script" not in page.content.decode()
        assert not page.cookies
        assert "Cookie" not in page.get("Vary", "")


def test_g19_what_models_wrote_is_inert(bob, sharing):
    run_id = record_run(
        sharing,
        prompt="<script>alert(1)</script>",
        answer="<img src=x onerror=alert(1)> [go](javascript:alert(1))",
    )
    page = opened(shared(bob, run_id)).content.decode()
    assert "<script" not in page
    assert "<img" not in page
    assert 'href="javascript:' not in page


def test_a_member_without_a_second_factor_reads_it_like_anyone(
    bob, run_id, settings, cast
):
    link = shared(bob, run_id)
    settings.REQUIRE_MFA = True
    visitor = Client()
    visitor.force_login(cast.vera)
    page = opened(link, visitor)
    assert page.status_code == 200
    assert not page.cookies


def test_only_reading_is_possible(bob, run_id):
    assert Client().post(path_of(shared(bob, run_id))).status_code == 405


# --- the end of links ----------------------------------------------------------------


def test_g13_texts_that_were_erased_are_shown_as_erased(bob, run_id, cast):
    link = shared(bob, run_id, hours=24, has_plan=True, note="For Carol")
    row = retention_set(team=cast.team, days=183, actor=ACTOR)
    row.begins_at = None
    row.save()
    rows = ShareLink.objects.for_team(cast.team.id)
    rows.update(expires_at=later(365))
    erase(later(184))
    page = opened(link).content.decode()
    assert "The text has been erased" in page
    assert "The answer has been erased" in page
    assert "PostgreSQL" not in page
    assert SUBTASK not in page
    assert bob.get(f"share-links/{link['id']}/").json()["note"] == ""
    again = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 1}), 409)
    assert "has been erased" in again["message"]


# --- who may make them, and of what --------------------------------------------------


def test_sharing_is_off_until_an_owner_or_admin_allows_it(cast):
    run_id = record_run(cast)
    bob = member(cast.bob)
    error = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 1}), 409)
    assert "share links are off" in error["message"]
    fault(bob.patch("sharing/", {"is_on": True}), 403)
    row = membership(cast.team, cast.vera)
    row.role = Role.ADMIN
    row.save()
    settings = member(cast.vera).patch("sharing/", {"is_on": True, "max_days": 7})
    assert settings.json() == {
        "is_on": True,
        "is_allowed": True,
        "max_days": 7,
        "highest_class": "internal",
    }
    assert works(shared(bob, run_id))
    assert entries(cast, "sharing.updated")[0]["data"] == {
        "before": {"is_on": False, "max_days": 30},
        "after": {"is_on": True, "max_days": 7},
        "links_ended": 0,
    }


def test_a_setting_that_stays_is_not_recorded(alice, cast):
    before = actions(cast.team)
    alice.patch("sharing/", {"is_on": True})
    assert actions(cast.team) == before


@pytest.mark.parametrize(
    "body",
    [{}, {"is_on": 1}, {"max_days": 0}, {"max_days": 366}, {"highest_class": "top"}],
)
def test_bad_settings_are_refused(alice, body):
    fault(alice.patch("sharing/", body), 400)


def test_nothing_works_longer_than_the_team_allows(alice, bob, run_id):
    alice.patch("sharing/", {"max_days": 2})
    error = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 49}), 409)
    assert "at most 2 days" in error["message"]
    assert works(shared(bob, run_id, hours=48))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"hours": 0},
        {"hours": 8_761},
        {"hours": "24"},
        {"hours": 1, "note": "x" * 201},
        {"hours": 1, "has_plan": 1},
        {"hours": 1, "digest": "0" * 64},
    ],
)
def test_bad_links_are_refused(bob, run_id, body):
    fault(bob.post(f"runs/{run_id}/share-links/", body), 400)
    assert not ShareLink.objects.across_teams().exists()


def test_what_is_found_above_the_highest_class_is_not_shared(alice, bob, sharing):
    run_id = record_run(sharing, prompt=CARD)
    error = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 1}), 409)
    assert "shares nothing above internal" in error["message"]
    alice.patch("sharing/", {"highest_class": "restricted"})
    link = shared(bob, run_id)
    assert link["data_class"] != "internal"
    assert works(link)
    alice.patch("sharing/", {"highest_class": "internal"})
    assert not works(link)


def test_steps_count_for_the_class_only_if_they_are_shown(bob, sharing):
    tasks = orjson.dumps([CARD, "Second", "Third"]).decode()
    run_id = record_run(sharing, subtasks=tasks)
    assert shared(bob, run_id)["data_class"] == "internal"
    body = {"hours": 1, "has_plan": True}
    fault(bob.post(f"runs/{run_id}/share-links/", body), 409)


def test_a_run_in_progress_is_not_shared(bob, sharing):
    run_id = make_run(sharing, state="running")
    error = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 1}), 409)
    assert "not complete yet" in error["message"]


def test_viewers_programs_and_other_teams_make_none(run_id, cast):
    path = f"runs/{run_id}/share-links/"
    fault(member(cast.vera).post(path, {"hours": 1}), 403)
    fault(keyed(cast.team, *Scope).post(path, {"hours": 1}), 403)
    fault(member(cast.mallory).post(path, {"hours": 1}), 404)
    assert not ShareLink.objects.across_teams().exists()


def test_a_run_has_a_bounded_number_of_links(bob, run_id, monkeypatch):
    monkeypatch.setattr("apps.sharing.services.MOST_OPEN", 2)
    first = shared(bob, run_id)
    shared(bob, run_id)
    error = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 1}), 409)
    assert "there are 2 links" in error["message"]
    bob.post(f"share-links/{first['id']}/revoke/")
    shared(bob, run_id)


# --- lists and the end by hand -------------------------------------------------------


def test_the_links_of_a_run_are_listed_without_their_secrets(bob, alice, run_id):
    made = shared(bob, run_id, note="For Carol", has_plan=True)
    other = shared(alice, run_id)
    listed = bob.get(f"runs/{run_id}/share-links/").json()["data"]
    assert [each["id"] for each in listed] == [other["id"], made["id"]]
    assert "url" not in listed[0]
    assert listed[1] == {name: made[name] for name in listed[1]}
    assert (made["note"], made["made_by"], made["state"]) == (
        "For Carol",
        "Bob",
        "open",
    )
    assert path_of(made).split("/")[2] not in str(listed)


def test_the_team_s_links_are_filtered(bob, alice, run_id, cast):
    own, other = shared(bob, run_id), shared(alice, record_run(cast))
    bob.post(f"share-links/{own['id']}/revoke/")

    def ids(query: str) -> list[str]:
        rows = alice.get(f"share-links/{query}").json()["data"]
        return [each["id"] for each in rows]

    assert ids("") == [other["id"], own["id"]]
    assert ids("?state=open") == [other["id"]]
    assert ids("?state=revoked") == [own["id"]]
    assert ids(f"?user_id={cast.alice.id}") == [other["id"]]
    assert ids(f"?run_id={run_id}") == [own["id"]]
    assert ids("?limit=1") == [other["id"]]
    fault(alice.get("share-links/?state=none"), 400)
    fault(bob.get("share-links/"), 403)


def test_members_revoke_their_own_links_and_managers_all(bob, alice, run_id, cast):
    own, other = shared(bob, run_id), shared(alice, run_id)
    fault(bob.post(f"share-links/{other['id']}/revoke/"), 403)
    assert alice.post(f"share-links/{own['id']}/revoke/").json()["state"] == "revoked"
    assert not works(own)
    assert works(other)
    [entry] = entries(cast, "share_link.revoked")
    assert entry["targets"] == [{"id": own["id"], "type": "share_link"}]
    assert entry["data"]["reason"] == "revoked"
    alice.post(f"share-links/{own['id']}/revoke/")
    assert len(entries(cast, "share_link.revoked")) == 1


def test_g15_links_of_another_team_are_not_found(run_id, bob, cast):
    link, mallory = shared(bob, run_id), member(cast.mallory)
    fault(mallory.get(f"share-links/{link['id']}/"), 404)
    fault(mallory.post(f"share-links/{link['id']}/revoke/"), 404)
    sharing_set(team=cast.other_team, values={"is_on": False}, actor=ACTOR)
    assert works(link)


# --- views, the record, secrets ------------------------------------------------------


def test_views_cost_one_write_a_minute_and_the_first_is_recorded(bob, run_id, cast):
    link = shared(bob, run_id)
    start = timezone.now()
    for seconds in (0, 10, 50, 61, 70):
        with time_machine.travel(start + timedelta(seconds=seconds), tick=False):
            opened(link)
    row = bob.get(f"share-links/{link['id']}/").json()
    assert row["views"] == 2
    assert row["last_viewed_at"] is not None
    [entry] = entries(cast, "share_link.viewed")
    assert entry["actor"]["type"] == "service"
    assert entry["context"]["address"] == "127.0.0.1"


def test_asking_for_the_head_alone_is_no_view(bob, run_id):
    link = shared(bob, run_id)
    assert Client().head(path_of(link)).status_code == 200
    assert bob.get(f"share-links/{link['id']}/").json()["views"] == 0


def test_the_making_is_recorded_with_what_is_shown(bob, run_id, cast):
    link = shared(bob, run_id, has_plan=True, note="For Carol")
    [entry] = entries(cast, "share_link.created")
    assert entry["data"] == {
        "run_id": str(run_id),
        "conversation_id": None,
        "expires_at": entry["data"]["expires_at"],
        "has_plan": True,
        "has_name": False,
        "data_class": "internal",
    }
    assert entry["actor"]["display"] == "Bob"
    assert "For Carol" not in str(entry)
    assert link["id"] == entry["targets"][0]["id"]


def test_g17_the_secret_is_kept_nowhere(bob, alice, run_id, cast, caplog):
    caplog.set_level(logging.DEBUG)
    link = shared(bob, run_id)
    secret = path_of(link).split("/")[2]
    assert len(secret) >= 43
    opened(link)
    opened({"url": f"http://x/shared/{secret}x/"})
    bob.post(f"share-links/{link['id']}/revoke/")
    opened(link)
    stored = str([list(model._base_manager.values()) for model in apps.get_models()])
    assert str(run_id) in stored
    assert secret not in stored
    assert not any(
        secret in bytes(row.canonical).decode() for row in Entry.objects.across_teams()
    )
    assert not any(
        secret.encode() in bytes(row.sealed or b"")
        for row in Content.objects.across_teams()
    )
    assert secret not in alice.client.get("/ledger/").content.decode()
    lines = [Formatter().format(record) for record in caplog.records]
    assert not any(secret in line for line in lines)


def test_lookups_of_one_address_are_limited(bob, run_id, settings):
    settings.SHARE_LINK_LOOKUPS_PER_MINUTE = 2
    link = shared(bob, run_id)
    unknown = "/shared/none/"
    assert works(link)
    assert Client().get(unknown).status_code == 404
    refused = opened(link)
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 60
    elsewhere = Client(REMOTE_ADDR="192.0.2.7").get(path_of(link))
    assert elsewhere.status_code == 200


# --- conversations -------------------------------------------------------------------


def test_a_conversation_is_shown_as_it_was_when_the_link_was_made(bob, chat, sharing):
    link = shared_chat(bob, chat)
    later_run = record_run(sharing, prompt="And MySQL?", answer="Not today.")
    chat.shown = Turn.objects.create(
        conversation=chat, run_id=later_run, continues=chat.shown
    )
    chat.save()
    page = opened(link).content.decode()
    assert stories.PROMPT in page
    assert "Private" not in page
    assert "MySQL" not in page
    both = opened(shared_chat(bob, chat, has_plan=True)).content.decode()
    assert both.index(stories.PROMPT) < both.index("And MySQL?")
    assert "Not today." in both
    listed = bob.get(f"conversations/{chat.id}/share-links/").json()["data"]
    assert len(listed) == 2
    assert listed[0]["conversation_id"] == str(chat.id)
    assert listed[0]["run_id"] is None


def test_only_its_owner_shares_a_conversation(alice, chat, cast):
    path = f"conversations/{chat.id}/share-links/"
    fault(alice.post(path, {"hours": 1}), 404)
    fault(alice.get(path), 404)
    fault(member(cast.mallory).post(path, {"hours": 1}), 404)


def test_the_class_of_any_turn_counts(bob, chat, sharing):
    secret_run = record_run(sharing, prompt=CARD)
    chat.shown = Turn.objects.create(
        conversation=chat, run_id=secret_run, continues=chat.shown
    )
    chat.save()
    path = f"conversations/{chat.id}/share-links/"
    fault(bob.post(path, {"hours": 1}), 409)


def test_an_empty_conversation_is_not_shared(bob):
    made = bob.post("conversations/", {}).json()
    path = f"conversations/{made['id']}/share-links/"
    fault(bob.post(path, {"hours": 1}), 409)
