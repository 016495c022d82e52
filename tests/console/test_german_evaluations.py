"""Evaluations, insights and learning in German; what is exported stays English."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.conftest import Cast
from tests.evaluation.made_up import made_up_evaluation

PAGES = {
    "/evaluations/": "Importieren Sie zuerst eine Suite von Aufgaben.",
    "/evaluations/suites/new/": "Eine Aufgabe je Zeile",
    "/learning/": "Es gibt noch keinen Pool",
    "/learning/subtasks/": "Es gibt noch keinen Pool",
    "/insights/": "Keine Läufe in diesem Zeitraum",
    "/insights/failures/": "Keine Läufe in diesem Zeitraum",
    "/insights/plans/": "Keine Läufe in diesem Zeitraum",
}


@pytest.fixture
def alice(cast: Cast) -> Client:
    client = Client(headers={"Accept-Language": "de"})
    client.force_login(cast.alice)
    return client


def body(client: Client, address: str) -> str:
    return client.get(address).content.decode()


@pytest.mark.release
@pytest.mark.parametrize("address", PAGES)
def test_pages_of_a_new_team_are_german(alice, address):
    page = body(alice, address)
    assert PAGES[address] in page
    assert '<main id="main" class=' in page


@pytest.mark.parametrize(
    ("address", "next_step"),
    [
        ("/evaluations/", "/evaluations/suites/new/"),
        ("/learning/", "/setup/"),
        ("/learning/subtasks/", "/setup/"),
    ],
)
def test_empty_pages_lead_on(alice, address, next_step):
    page = body(alice, address)
    assert f'<a class="button button--primary" href="{next_step}"' in page or (
        f'<a class="button" href="{next_step}"' in page
    )


@pytest.mark.release
def test_causes_are_german_on_pages_and_stable_words_in_files(cast, alice):
    address = f"/evaluations/{made_up_evaluation(cast.team).id}/"
    page = body(alice, address)
    assert "Worker fehlgeschlagen, 1 Mal" in page
    assert ">zum Orakel<" in page
    results = body(alice, f"{address}results/?state=failed")
    assert "Fehlgeschlagen" in results
    assert "worker_failed" in b"".join(alice.get(f"{address}report.csv")).decode()
    assert "Runs without an answer" in body(alice, f"{address}report.md")


def test_logs_of_inspect_are_english(cast, alice):
    address = f"/evaluations/{made_up_evaluation(cast.team).id}/inspect/0.json"
    log = b"".join(alice.get(address)).decode()
    assert "The final answer is" in log
    assert "Die Endantwort" not in log


def test_what_is_wrong_with_a_form_is_german(cast, alice):
    made_up_evaluation(cast.team)
    page = alice.post("/evaluations/suites/new/", {}).content.decode()
    assert "Dieses Feld ist zwingend erforderlich." in page
