"""What the page of a share link costs, and when it is shown."""

from __future__ import annotations

import re
import uuid

import pytest
from django.test import Client

from apps.conversations.models import Conversation, Turn
from apps.core.ids import new_id
from apps.playground.sharing.page_budget import CHARACTERS
from apps.sharing.models import ShareLink
from tests.audit.tampering import set_head
from tests.playground import stories
from tests.rest.conftest import fault
from tests.sharing.conftest import (
    opened,
    path_of,
    record_run,
    shared,
    shared_chat,
    works,
)

PROSE = "One **word** follows another `one` here, [as](https://example.org) ever.\n\n"
LONG = PROSE * (CHARACTERS // 2 // len(PROSE))
"""Half of what a page holds."""


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


@pytest.mark.release
def test_the_page_is_in_the_language_of_its_visitor(bob, run_id):
    link = shared(bob, run_id, has_plan=True)
    english, german = (
        Client(HTTP_ACCEPT_LANGUAGE=language).get(path_of(link)).content
        for language in ("en", "de")
    )
    assert b"read-only until" in english
    assert b"nur lesbar bis" in german


@pytest.mark.parametrize("secret", ["", "x"])
def test_an_address_without_its_slash_is_the_same_page(bob, run_id, secret):
    path = path_of(shared(bob, run_id)).rstrip("/") + secret
    answer = Client().get(path)
    assert answer.status_code == (404 if secret else 200)
    assert answer["Cache-Control"] == "no-store"
    assert "noindex" in answer["X-Robots-Tag"]


def test_footnotes_of_the_page_have_ids_of_their_own(bob, cast, sharing):
    noted = "A claim[^1].\n\n[^1]: The source."
    run_id = record_run(cast, answer=noted, text=noted)
    page = opened(shared(bob, run_id, has_plan=True)).content.decode()
    ids = re.findall(r' id="(fn[^"]+)"', page)
    assert len(ids) == len(set(ids)) > 2
    assert set(re.findall(r'href="#(fn[^"]+)"', page)) == set(ids)
