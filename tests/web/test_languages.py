"""Pages speak the language of their reader; what is recorded or sent on is English."""

from __future__ import annotations

import pytest
from django.core import mail
from django.test import Client

from apps.audit.selectors import entry_list
from apps.budgets.models import Budget
from tests.console.conftest import text_of
from tests.rest.things import make_run
from tests.web.catalogues import in_german

HOME, RUNS, ACCOUNT, CHOICE = "/home/", "/runs/", "/account/", "/account/language/"
SIGN_IN = "/accounts/login/"
BUDGET = {"kind": "team", "period": "day", "limit_usd": "1234.5"}


def page(browser, address, **headers):
    return text_of(browser.get(address, headers=headers))


def recorded(browser, cast):
    """Do what writes entries; return what they say, and the bytes of the export."""
    before = len(entry_list(cast.team.id))
    browser.post("/budgets/new/", BUDGET)
    exported = browser.post("/runs/export/", {"format": "csv"}).getvalue()
    Budget.objects.for_team(cast.team.id).delete()
    made = entry_list(cast.team.id)[before:]
    said = [(e.action, e.outcome, {**e.data, "budget_id": ""}) for e in made]
    return said, exported


def test_pages_are_in_english_without_a_choice(alice):
    answer = alice.get(HOME)
    assert '<html lang="en">' in text_of(answer)
    assert "Needs attention" in text_of(answer)
    assert "script-words" not in text_of(answer)
    assert answer["Content-Language"] == "en"


@pytest.mark.parametrize("wanted", ["de", "de-AT,de;q=0.9,en;q=0.5", "xx, de;q=0.5"])
def test_browser_that_prefers_german_gets_it(alice, wanted):
    answer = alice.get(HOME, headers={"Accept-Language": wanted})
    assert '<html lang="de">' in text_of(answer)
    assert in_german("Needs attention") in text_of(answer)
    assert "Accept-Language" in answer["Vary"]


@pytest.mark.parametrize("wanted", ["xx", "fr, it;q=0.8", "…", "*"])
def test_language_that_the_pages_do_not_speak_falls_back_to_english(alice, wanted):
    assert '<html lang="en">' in page(alice, HOME, **{"Accept-Language": wanted})


def test_stored_language_that_is_gone_is_as_none(alice, cast):
    cast.alice.language = "xx"
    cast.alice.save()
    assert '<html lang="en">' in page(alice, HOME)


def test_choice_is_kept_with_the_person_and_beats_the_browser(alice, cast):
    answer = alice.post(CHOICE, {"language": "de", "next": RUNS})
    assert (answer.status_code, answer["Location"]) == (302, RUNS)
    elsewhere = Client(headers={"Accept-Language": "en"})
    elsewhere.force_login(cast.alice)
    assert in_german("Search prompts and answers") in page(elsewhere, RUNS)
    assert '<option value="de" lang="de" selected>Deutsch' in page(elsewhere, ACCOUNT)


def test_choice_is_confirmed_on_the_account_page_in_its_language(alice):
    answer = alice.post(CHOICE, {"language": "de"}, follow=True)
    assert answer.redirect_chain == [(ACCOUNT, 302)]
    assert in_german("Your language is saved.") in text_of(answer)


def test_choice_can_be_given_back_to_the_browser(german, cast):
    german.post(CHOICE, {"language": ""})
    cast.alice.refresh_from_db()
    assert cast.alice.language == ""
    assert '<html lang="en">' in page(german, ACCOUNT, **{"Accept-Language": "en"})


def test_choice_of_one_person_changes_nothing_for_others(german, cast):
    bob = Client()
    bob.force_login(cast.bob)
    assert '<html lang="en">' in page(bob, RUNS)


def test_visitor_chooses_on_the_way_in(client, db):
    assert '<button type="submit" name="language" value="de"' in page(client, SIGN_IN)
    client.post(CHOICE, {"language": "de", "next": SIGN_IN})
    assert in_german("Use a passkey") in page(client, SIGN_IN)


@pytest.mark.parametrize("language", ["xx", "en-xx", "../de"])
def test_unknown_choice_is_refused_and_changes_nothing(alice, cast, language):
    assert alice.post(CHOICE, {"language": language}).status_code == 400
    cast.alice.refresh_from_db()
    assert cast.alice.language == ""


@pytest.mark.parametrize("way", ["https://evil.example/", "//evil.example", "\\\\e.x"])
def test_choice_leads_to_no_other_site(alice, way):
    answer = alice.post(CHOICE, {"language": "de", "next": way})
    assert answer["Location"] == ACCOUNT


@pytest.mark.parametrize("way", [f"{RUNS}?q={'x' * 2_000}", "/\0", "a\nb"])
def test_an_odd_way_back_does_not_stop_the_choice(alice, cast, way):
    answer = alice.post(CHOICE, {"language": "de", "next": way})
    assert (answer.status_code, answer["Location"]) == (302, ACCOUNT)
    cast.alice.refresh_from_db()
    assert cast.alice.language == "de"


@pytest.mark.parametrize(
    ("address", "values"),
    [
        ("/presets/new/", {"name": "x" * 500}),
        ("/budgets/new/", {"kind": "xx"}),
        ("/keys/new/", {}),
    ],
)
def test_errors_of_forms_are_in_the_language_of_their_page(german, address, values):
    shown = text_of(german.post(address, values))
    assert '<main id="main" class' in shown
    assert "Dieses Feld ist zwingend erforderlich." in shown
    assert "This field is required." not in shown


def test_choice_is_no_page(alice):
    assert alice.get(CHOICE).status_code == 405


def test_part_that_is_not_translated_says_that_it_is_english(german):
    text = page(german, "/docs/alerts/")
    assert '<html lang="de">' in text
    assert '<article class="panel docs-text" lang="en"' in text
    assert '<main id="main" class' in page(german, "/keys/")


def test_row_of_the_list_of_runs_is_in_the_language_of_its_page(alice, cast):
    make_run(cast)
    assert "Completed</span>" in page(alice, RUNS)
    words = page(alice, RUNS, **{"Accept-Language": "de"})
    assert f"{in_german('Completed')}</span>" in words
    assert "Completed</span>" in page(alice, RUNS)


def test_palette_finds_pages_by_german_and_by_english_words(german):
    for query in (in_german("Members").lower(), "members"):
        groups = german.get("/search/", {"q": query}).json()["groups"]
        found = {each["title"]: each["hits"] for each in groups}
        assert found[in_german("Pages")][0]["title"] == in_german("Members")


def test_figures_are_written_as_in_english(german):
    german.post("/budgets/new/", BUDGET)
    words = page(german, HOME)
    assert "$1,234.50" in words
    assert '<rect class="bar__spent" width="0" height="6">' in words


def test_forms_take_figures_as_in_english(german, cast):
    german.post("/budgets/new/", BUDGET)
    assert Budget.objects.for_team(cast.team.id).get().limit_micros == 1_234_500_000


def test_what_is_recorded_and_exported_is_the_same_in_every_language(alice, cast):
    make_run(cast)
    said, exported = recorded(alice, cast)
    alice.post(CHOICE, {"language": "de"})
    assert '<html lang="de">' in page(alice, HOME)
    assert recorded(alice, cast) == (said, exported)
    assert [action for action, *_ in said] == ["budget.created", "team.runs_exported"]


def test_answers_of_the_api_are_english_whoever_asks(german):
    answer = german.post("/api/v1/keys/", {}, content_type="application/json")
    assert answer.status_code == 400
    assert "required" in answer.content.decode()
    assert answer.headers.get("Content-Language", "en") == "en"


def test_errors_for_programs_are_english_on_pages_too(german):
    answer = german.post(
        CHOICE, {"language": "xx"}, headers={"Accept": "application/json"}
    )
    assert answer.json()["error"]["message"] == "this language is not available"


def test_page_of_the_api_reference_has_the_readers_language(german):
    assert '<html lang="de">' in page(german, "/api/v1/docs/")


def test_mails_are_english_whoever_causes_them(client, cast):
    cast.alice.language = "de"
    cast.alice.save()
    reset = {"email": cast.alice.email}
    client.post("/accounts/password/reset/", reset, headers={"Accept-Language": "de"})
    assert "Passwort" not in mail.outbox[0].subject + str(mail.outbox[0].body)
