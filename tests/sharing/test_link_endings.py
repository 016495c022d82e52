"""When share links end, when they are stopped, and what the lists say of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Membership, Role
from apps.accounts.services import member_add, member_remove
from apps.conversations.services import conversation_delete
from apps.runs.models import Run
from apps.sharing.models import ShareLink
from apps.sharing.services import share_links_forget
from tests.factories import ACTOR
from tests.governance.conftest import later
from tests.governance.test_idle_conversations import expire
from tests.governance.test_idle_conversations import rule as idle_rule
from tests.rest.conftest import fault
from tests.sharing.conftest import entries, opened, shared, shared_chat, works


def state_of(caller, link):
    return caller.get(f"share-links/{link['id']}/").json()["state"]


def listed(caller, state):
    page = caller.get(f"share-links/?state={state}").json()
    return [each["id"] for each in page["data"]]


def test_a_link_ends_when_its_time_is_over(bob, run_id):
    link = shared(bob, run_id, hours=2)
    now = timezone.now()
    with time_machine.travel(now + timedelta(minutes=119), tick=False):
        assert works(link)
    with time_machine.travel(now + timedelta(minutes=121), tick=False):
        assert not works(link)


def test_all_links_that_do_not_work_read_the_same(bob, run_id):
    expired, revoked = shared(bob, run_id, hours=1), shared(bob, run_id)
    bob.post(f"share-links/{revoked['id']}/revoke/")
    unknown = {"url": "http://x/shared/" + "A" * 43 + "/"}
    malformed = {"url": "http://x/shared/%00~/"}
    with time_machine.travel(timezone.now() + timedelta(hours=2), tick=False):
        pages = [opened(each) for each in (expired, revoked, unknown, malformed)]
    assert {page.status_code for page in pages} == {404}
    assert len({page.content for page in pages}) == 1
    assert b"This link does not work any more" in pages[0].content


def test_links_end_with_the_membership_of_their_maker(bob, alice, run_id, cast):
    own, other = shared(bob, run_id), shared(alice, run_id)
    member_remove(team=cast.team, user=cast.bob, actor=ACTOR)
    assert not works(own)
    assert works(other)
    [entry] = entries(cast, "share_link.revoked")
    assert entry["data"] == {"reason": "the member has gone", "views": 0}
    member_add(team=cast.team, user=cast.bob, role=Role.MEMBER, actor=ACTOR)
    assert not works(own)


def test_links_of_an_account_that_is_switched_off_do_not_work(bob, run_id, cast):
    link = shared(bob, run_id)
    cast.bob.is_active = False
    cast.bob.save()
    assert not works(link)


def test_links_end_for_good_when_sharing_is_turned_off(bob, alice, run_id, cast):
    link = shared(bob, run_id)
    alice.patch("sharing/", {"is_on": False})
    assert not works(link)
    assert entries(cast, "sharing.updated")[-1]["data"]["links_ended"] == 1
    alice.patch("sharing/", {"is_on": True})
    assert not works(link)
    assert alice.get(f"share-links/{link['id']}/").json()["state"] == "revoked"


def test_the_operator_stops_the_links_of_all_teams(bob, run_id, settings):
    link = shared(bob, run_id)
    settings.SHARE_LINKS = False
    assert not works(link)
    error = fault(bob.post(f"runs/{run_id}/share-links/", {"hours": 1}), 409)
    assert "the operator of this site does not allow" in error["message"]
    assert bob.get("sharing/").json()["is_allowed"] is False
    settings.SHARE_LINKS = True
    assert works(link)


def test_a_link_ends_when_its_run_is_deleted(bob, run_id, cast):
    link = shared(bob, run_id)
    Run.objects.for_team(cast.team.id).get(id=run_id).delete()
    assert not works(link)


def test_a_link_ends_when_its_conversation_is_deleted(bob, chat):
    link = shared_chat(bob, chat)
    conversation_delete(chat)
    assert not works(link)


def test_links_that_ended_long_ago_leave_the_lists(bob, run_id, cast):
    shared(bob, run_id, hours=1)
    assert list(share_links_forget(later(89))) == []
    assert list(share_links_forget(later(91))) == [1]
    assert not ShareLink.objects.for_team(cast.team.id).exists()


def test_a_maker_who_may_not_share_any_more_has_no_link_and_revokes_it(
    bob, alice, run_id, cast
):
    own, other = shared(bob, run_id), shared(alice, run_id)
    rows = Membership.objects.for_team(cast.team.id).filter(user=cast.bob)
    rows.update(role=Role.VIEWER)
    assert not works(own)
    assert works(other)
    fault(bob.post(f"share-links/{other['id']}/revoke/"), 403)
    assert bob.client.get(f"/share-links/{other['id']}/revoke/").status_code == 403
    page = bob.client.post(f"/share-links/{own['id']}/revoke/", follow=True)
    assert page.status_code == 200
    row = ShareLink.objects.for_team(cast.team.id).get(id=own["id"])
    assert row.revoked_at is not None


def test_an_admin_who_revokes_a_link_of_a_conversation_is_back_at_the_list(
    bob, alice, chat
):
    link = shared_chat(bob, chat)
    page = alice.client.post(f"/share-links/{link['id']}/revoke/", follow=True)
    assert page.status_code == 200
    assert page.redirect_chain[-1][0] == reverse("console:share_links")
    assert not works(link)


def test_the_end_of_a_link_is_on_record_when_its_conversation_is_deleted(
    bob, chat, cast
):
    link = shared_chat(bob, chat)
    assert bob.delete(f"conversations/{chat.id}/").status_code == 204
    assert not works(link)
    [entry] = entries(cast, "share_link.revoked")
    assert entry["data"] == {"reason": "the conversation was deleted", "views": 0}
    assert entry["actor"]["display"] == "Bob"


def test_the_end_of_a_link_is_on_record_when_its_conversation_is_not_used(
    bob, chat, cast
):
    link = shared_chat(bob, chat, hours=24 * 30)
    idle_rule(cast, 7)
    assert expire(later(8)) == 1
    assert not works(link)
    [entry] = entries(cast, "share_link.revoked")
    assert entry["actor"]["type"] == "service"
    assert entry["targets"] == [{"id": link["id"], "type": "share_link"}]


# --- stopped for a while -------------------------------------------------------------


def switch_off_site(settings, alice, cast):
    settings.SHARE_LINKS = False


def lower_class(settings, alice, cast):
    alice.patch("sharing/", {"highest_class": "public"})


def switch_off_account(settings, alice, cast):
    cast.bob.is_active = False
    cast.bob.save()


def take_role(settings, alice, cast):
    rows = Membership.objects.for_team(cast.team.id).filter(user=cast.bob)
    rows.update(role=Role.VIEWER)


@pytest.mark.parametrize(
    "stop", [switch_off_site, lower_class, switch_off_account, take_role]
)
def test_a_stopped_link_is_listed_as_stopped_and_can_be_revoked(
    stop, bob, alice, run_id, cast, settings
):
    link = shared(bob, run_id)
    assert (state_of(alice, link), listed(alice, "open")) == ("open", [link["id"]])
    stop(settings, alice, cast)
    assert not works(link)
    assert (state_of(alice, link), listed(alice, "open")) == ("stopped", [])
    assert listed(alice, "stopped") == [link["id"]]
    for path in (f"/runs/{run_id}/share/", "/share-links/"):
        assert "Stopped" in alice.client.get(path).content.decode(), path
    alice.client.post(f"/share-links/{link['id']}/revoke/")
    assert (state_of(alice, link), listed(alice, "stopped")) == ("revoked", [])


def test_a_link_works_again_when_what_stopped_it_is_over(bob, alice, run_id):
    link = shared(bob, run_id)
    alice.patch("sharing/", {"highest_class": "public"})
    assert not works(link)
    alice.patch("sharing/", {"highest_class": "internal"})
    assert works(link)
    assert state_of(alice, link) == "open"


def test_stopped_links_end_for_good_when_sharing_is_turned_off(bob, alice, run_id):
    link = shared(bob, run_id)
    alice.patch("sharing/", {"highest_class": "public"})
    alice.patch("sharing/", {"is_on": False})
    assert state_of(alice, link) == "revoked"


def test_a_link_stays_in_the_list_when_its_conversation_is_deleted(bob, alice, chat):
    link = shared_chat(bob, chat)
    bob.delete(f"conversations/{chat.id}/")
    assert state_of(alice, link) == "revoked"
    page = alice.client.get("/share-links/").content.decode()
    assert "A conversation, deleted" in page
    again = alice.client.get(f"/share-links/{link['id']}/revoke/", follow=True)
    assert again.status_code == 200
