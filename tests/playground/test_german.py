"""The playground and the pages of runs in German, also the parts that are live."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import translation

from apps.accounts.models import User
from apps.playground.composing.file_words import cut_words, extent_words
from tests.console.conftest import text_of
from tests.playground.conftest import record_run
from tests.playground.stories import finished, rescued

GERMAN = {"Accept-Language": "de"}


def shown(browser, name, *args, **headers):
    address = reverse(f"playground:{name}", args=args)
    return text_of(browser.get(address, headers=headers))


@pytest.mark.release
def test_page_of_a_run_is_german(bob, run):
    words = shown(bob, "run_detail", run.id, **GERMAN)
    assert '<main id="main" class' in words
    for part in (
        "Abgeschlossen",
        "Zeitachse",
        "Zur Zusammenfassung",
        "Ist die Antwort",
    ):
        assert part in words
    for part in ("Completed", "Timeline", "Go to ", "of model time", "Response"):
        assert part not in words


@pytest.mark.release
def test_live_parts_come_in_the_language_of_the_connection(bob, run):
    assert "Zeitachse" in shown(bob, "run_body", run.id, **GERMAN)
    assert "Timeline" in shown(bob, "run_body", run.id, **{"Accept-Language": "en"})
    User.objects.filter(id=bob.session["_auth_user_id"]).update(language="de")
    assert "Zeitachse" in shown(bob, "run_body", run.id, **{"Accept-Language": "en"})


@pytest.mark.release
def test_faults_of_calls_are_named_in_german(bob, team):
    run = record_run(team, rescued())
    english = shown(bob, "run_detail", run.id, **{"Accept-Language": "en"})
    german = shown(bob, "run_detail", run.id, **GERMAN)
    assert "Attempt 1" in english and "Versuch 1" in german
    assert "Attempt" not in german


@pytest.mark.release
def test_what_a_step_was_sent_is_shown_with_german_words(bob, team):
    run = record_run(team, finished())
    words = shown(bob, "step_context", run.id, 0, 0, **GERMAN)
    assert "Schritt 1, " in words and "bevor das erste Byte" in words


@pytest.mark.release
def test_composer_is_german(bob):
    words = shown(bob, "index", **GERMAN)
    for part in ("Ausführen", "Einstellungen", "Stufe"):
        assert part in words
    assert '<main id="main" class="page stage"' in words


@pytest.mark.release
def test_form_that_is_refused_says_why_in_german(bob):
    address = reverse("playground:run_create")
    headers = {**GERMAN, "Accept": "application/json"}
    answer = bob.post(address, {"prompt": " "}, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "Schreiben Sie einen Prompt."


@pytest.mark.release
@pytest.mark.parametrize(
    ("recorded", "german"),
    [
        ("1 line", "1 Zeile"),
        ("1,200 pages", "1,200 Seiten"),
        ("3 sheets, 40 rows or more", "3 Blätter, 40 Zeilen oder mehr"),
        ("640 × 480 px", "640 × 480 px"),
    ],
)
def test_extents_of_files_are_translated_for_display(recorded, german):
    assert extent_words(recorded) == recorded
    with translation.override("de"):
        assert extent_words(recorded) == german


@pytest.mark.release
@pytest.mark.parametrize(
    ("recorded", "german"),
    [
        ("", ""),
        ("the first 40 rows are included", "enthalten: die ersten 40 Zeilen"),
        (
            "the first 3 of 10 pages are included",
            "enthalten: die ersten 3 von 10 Seiten",
        ),
    ],
)
def test_what_was_read_of_a_file_is_translated_for_display(recorded, german):
    assert cut_words(recorded) == recorded
    with translation.override("de"):
        assert cut_words(recorded) == german


def test_why_something_was_refused_is_marked_as_english(bob, run):
    address = reverse("playground:run_tags", args=[run.id])
    answer = bob.post(address, {"tags": "x" * 500}, headers=GERMAN, follow=True)
    assert '<p lang="en">Tags: ' in text_of(answer)
