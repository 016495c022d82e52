"""The pages on which links are made, listed and revoked; they work without scripts."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.accounts.principal import user_actor
from apps.conversations.services import conversation_of_run
from apps.runs.models import Run
from apps.sharing.models import ShareLink, SharingSettings
from tests.conftest import Cast
from tests.playground import stories
from tests.rest.conftest import member
from tests.sharing.conftest import record_run, shared, works

FORM = {"hours": "24", "shows": "answer", "once": "one"}
LIST, SETTINGS, END = "/share-links/", "/share-links/settings/", "/share-links/revoke/"


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return html.unescape(response.content.decode())


def address_in(page: str) -> str:
    found = re.search(r'value="http://[^"]*(/shared/[^"]+)"', page)
    assert found
    return found[1]


@pytest.fixture
def browser(sharing: Cast) -> Client:
    """Bob's, a member."""
    return member(sharing.bob).client


@pytest.fixture
def owner(sharing: Cast) -> Client:
    return member(sharing.alice).client


def test_a_link_is_made_from_the_page_of_a_run_and_shown_once(browser, run_id):
    here = f"/runs/{run_id}/share/"
    assert here in text_of(browser.get(f"/runs/{run_id}/"))
    assert "No links yet" in text_of(browser.get(here))
    sent = {**FORM, "note": "For Carol", "has_name": "on", "shows": "plan"}
    made = browser.post(here, sent)
    assert "no-store" in made["Cache-Control"]
    address = address_in(text_of(made))
    page = text_of(Client().get(address))
    assert stories.PROMPT in page
    assert "by <bdi>Bob</bdi>" in page
    listed = text_of(browser.get(here))
    assert "For Carol" in listed
    assert "1 view" in listed
    assert address not in listed


@pytest.mark.release
def test_states_of_links_are_in_the_language_of_the_page(browser, run_id):
    here = f"/runs/{run_id}/share/"
    browser.post(here, FORM)
    assert 'data-state="live">Open</span>' in text_of(browser.get(here))
    page = text_of(browser.get(here, headers={"Accept-Language": "de"}))
    assert 'data-state="live">Offen</span>' in page


def test_sending_the_form_again_makes_no_second_link(browser, run_id):
    here = f"/runs/{run_id}/share/"
    browser.post(here, FORM)
    again = text_of(browser.post(here, FORM, follow=True))
    assert "That link was made already" in again
    assert ShareLink.objects.across_teams().count() == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"hours": "7"}, "Select a valid choice"),
        ({"shows": "all"}, "Select a valid choice"),
        ({"note": "x" * 201}, "at most 200 characters"),
    ],
)
def test_bad_forms_say_what_is_wrong(browser, run_id, wrong, words):
    page = text_of(browser.post(f"/runs/{run_id}/share/", {**FORM, **wrong}))
    assert words in page
    assert "Nothing was saved." in page
    assert not ShareLink.objects.across_teams().exists()


def test_what_must_not_be_shared_is_refused_with_the_reason(browser, sharing):
    run_id = record_run(sharing, prompt="Charge 4111 1111 1111 1111 please.")
    page = text_of(browser.post(f"/runs/{run_id}/share/", FORM))
    assert "this team shares nothing above internal" in page


def test_times_end_at_the_longest_of_the_team(browser, run_id, sharing):
    SharingSettings.objects.for_team(sharing.team.id).update(max_days=5)
    page = text_of(browser.get(f"/runs/{run_id}/share/"))
    assert "5 days" in page
    assert "7 days" not in page


def test_without_permission_nothing_leads_there(cast):
    run_id = record_run(cast)
    for user in (cast.bob, cast.vera):
        assert "/share/" not in text_of(member(user).client.get(f"/runs/{run_id}/"))
    alice = member(cast.alice).client
    assert f"/runs/{run_id}/share/" in text_of(alice.get(f"/runs/{run_id}/"))
    page = text_of(alice.get(f"/runs/{run_id}/share/"))
    assert "Share links are off in this team." in page
    assert SETTINGS in page
    assert member(cast.vera).client.get(f"/runs/{run_id}/share/").status_code == 403
    outsider = member(cast.mallory).client.get(f"/runs/{run_id}/share/")
    assert outsider.status_code == 404


def test_a_conversation_is_shared_from_its_menu(browser, run_id, sharing):
    run = Run.objects.for_team(sharing.team.id).get(id=run_id)
    chat = conversation_of_run(run, user_actor(sharing.bob, {}), {"name": "Private"})
    here = f"/conversations/{chat.id}/share/"
    assert here in text_of(browser.get(f"/conversations/{chat.id}/"))
    page = text_of(Client().get(address_in(text_of(browser.post(here, FORM)))))
    assert "Shared conversation" in page
    assert stories.PROMPT in page
    assert "Private" not in page


def test_a_link_is_revoked_after_asking_and_one_comes_back(browser, run_id, bob):
    link = shared(bob, run_id)
    here, path = f"/runs/{run_id}/share/", f"/share-links/{link['id']}/revoke/"
    assert path in text_of(browser.get(here))
    assert "It was made by Bob." in text_of(browser.get(path))
    assert works(link)
    page = browser.post(path, follow=True)
    assert page.redirect_chain[-1][0] == here
    assert "The link is revoked." in text_of(page)
    assert not works(link)


def test_owners_allow_links_and_turn_them_off(cast):
    alice = member(cast.alice).client
    assert "Off" in text_of(alice.get("/team/settings/"))
    assert "Share links are off" in text_of(alice.get(LIST))
    sent = {"is_on": "on", "max_days": "7", "highest_class": "public"}
    page = text_of(alice.post(SETTINGS, sent, follow=True))
    assert "Share links are allowed." in page
    assert "for at most 7 days" in text_of(alice.get("/team/settings/"))
    page = text_of(alice.post(SETTINGS, {**sent, "max_days": "400"}))
    assert "Write 365 or less." in page
    sent.pop("is_on")
    page = text_of(alice.post(SETTINGS, sent, follow=True))
    assert "Share links are off." in page


def test_the_list_has_all_links_and_filters_them(owner, bob, alice, run_id, sharing):
    one = shared(bob, run_id, note="For Carol")
    other = shared(alice, record_run(sharing), note="For Dora")
    alice.post(f"share-links/{other['id']}/revoke/")
    page = text_of(owner.get(LIST))
    assert "For Carol" in page
    assert "For Dora" in page
    page = text_of(owner.get(f"{LIST}?state=open"))
    assert "For Carol" in page
    assert "For Dora" not in page
    page = text_of(owner.get(f"{LIST}?member={sharing.alice.id}"))
    assert "For Carol" not in page
    assert "No link matches" in text_of(owner.get(f"{LIST}?state=expired"))
    with time_machine.travel(timezone.now() + timedelta(days=2), tick=False):
        member_browser = member(sharing.alice).client
        assert "Expired" in text_of(member_browser.get(f"{LIST}?state=expired"))
    assert one["id"] in text_of(owner.get(f"{LIST}?state=nonsense"))


def test_several_links_are_revoked_at_once_after_asking(owner, bob, run_id):
    links = [shared(bob, run_id) for _ in range(3)]
    ids = [each["id"] for each in links[:2]]
    page = text_of(owner.post(END, {"link": ids}))
    assert "Revoke 2 links?" in page
    assert works(links[0])
    page = text_of(owner.post(END, {"link": ids, "confirmed": "1"}, follow=True))
    assert "2 links revoked." in page
    assert [works(each) for each in links] == [False, False, True]
    assert "Choose one or more" in text_of(owner.post(END, follow=True))
    assert owner.post(END, {"link": ["x"]}).status_code == 400


def test_the_list_takes_no_more_queries_when_it_is_longer(
    owner, bob, run_id, recorded_queries
):
    for number in range(12):
        shared(bob, run_id, note=f"note {number}")
    with recorded_queries():
        assert "note 11" in text_of(owner.get(LIST))


def test_members_see_no_list_of_the_team(browser, sharing):
    assert browser.get(LIST).status_code == 403
    assert browser.get(SETTINGS).status_code == 403
    assert browser.post(END, {"link": []}).status_code == 403
    assert LIST not in text_of(browser.get("/team/settings/"))
