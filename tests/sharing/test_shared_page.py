"""What the page of a share link costs, and when it is shown."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Membership, Role
from apps.accounts.principal import user_actor
from apps.conversations.models import Conversation, Turn
from apps.conversations.services import conversation_of_run
from apps.core.ids import new_id
from apps.playground.sharing.page_budget import CHARACTERS
from apps.runs.models import Run
from apps.sharing.models import ShareLink
from tests.audit.tampering import set_head
from tests.conftest import Cast
from tests.governance.conftest import later
from tests.governance.test_idle_conversations import expire
from tests.governance.test_idle_conversations import rule as idle_rule
from tests.playground import stories
from tests.rest.conftest import fault
from tests.sharing.conftest import opened, path_of, record_run, shared, works
from tests.sharing.test_share_links import entries, shared_chat

PROSE = "One **word** follows another `one` here, [as](https://example.org) ever.\n\n"
LONG = PROSE * (CHARACTERS // 2 // len(PROSE))
"""Half of what a page holds."""


@pytest.fixture
def chat(sharing: Cast, run_id: uuid.UUID) -> Conversation:
    """A conversation of Bob's with one turn."""
    run = Run.objects.for_team(sharing.team.id).get(id=run_id)
    return conversation_of_run(run, user_actor(sharing.bob, {}), {})


def go_on(chat: Conversation, run_id: uuid.UUID) -> None:
    chat.shown = Turn.objects.create(
        conversation=chat, run_id=run_id, continues=chat.shown
    )
    chat.save()


def test_a_page_holds_a_bounded_amount_of_text(bob, chat, sharing):
    for _ in range(4):
        go_on(chat, record_run(sharing, prompt=LONG, answer=LONG))
    page = opened(shared_chat(bob, chat, has_plan=True)).content.decode()
    assert len(page) < 3 * CHARACTERS
    assert page.count("This is the beginning of a long prompt.") >= 3
    assert page.count("This is the beginning of a long text.") >= 3
    assert stories.PROMPT in page


def test_a_text_that_fits_is_whole(bob, sharing):
    link = shared(bob, record_run(sharing, answer=f"{LONG}The end."))
    page = opened(link).content.decode()
    assert "The end." in page
    assert "beginning of a long" not in page


def test_asking_for_the_head_alone_draws_nothing(bob, run_id, monkeypatch):
    link = shared(bob, run_id)
    monkeypatch.delattr("apps.playground.sharing.shared_page._context")
    answer = Client().head(path_of(link))
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")


def test_a_turn_whose_run_is_not_on_record_is_not_shared(bob, chat):
    go_on(chat, new_id())
    path = f"conversations/{chat.id}/share-links/"
    fault(bob.post(path, {"hours": 1}), 409)
    assert not ShareLink.objects.across_teams().exists()


def test_the_page_is_shown_though_the_ledger_takes_no_entry(bob, run_id, cast, caplog):
    link = shared(bob, run_id)
    set_head(cast.team.id, seq=1)
    assert works(link)
    assert "is not recorded" in caplog.text


def test_the_page_is_in_one_language(bob, run_id):
    link = shared(bob, run_id, has_plan=True)
    english, german = (
        Client(HTTP_ACCEPT_LANGUAGE=language).get(path_of(link)).content
        for language in ("en", "de")
    )
    assert german == english


@pytest.mark.parametrize("secret", ["", "x"])
def test_an_address_without_its_slash_is_the_same_page(bob, run_id, secret):
    path = path_of(shared(bob, run_id)).rstrip("/") + secret
    answer = Client().get(path)
    assert answer.status_code == (404 if secret else 200)
    assert answer["Cache-Control"] == "no-store"
    assert "noindex" in answer["X-Robots-Tag"]


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
