"""The pages about models are in German for who reads it; the APIs beside are not."""

from __future__ import annotations

import pytest

from tests.console.conftest import text_of
from tests.console.models import pool_input, words
from tests.factories import ConductorFactory, PoolFactory

FIXED = {
    "/workers/": "Worker hinzufügen",
    "/workers/new/": "Schritt 1 von 2",
    "/workers/new/?provider=other": "Was er für Ihr Team ist",
    "/conductors/": "Conductor hinzufügen",
    "/conductors/new/": "Was er erfährt",
    "/credentials/": "Keine Zugangsdaten gespeichert",
    "/credentials/new/": "Neue Zugangsdaten",
    "/pools/": "höchstens 5 Schritte",
    "/pools/new/": "In der Reihenfolge, in der der Conductor sie sieht.",
    "/setup/": "Wer stellt Ihre Modelle bereit?",
    "/setup/?provider=ollama": "Modelle auflisten",
    "/setup/models/": "Das Modell, das plant",
    "/teams/new/": "Einem weiteren Team beitreten",
}
OF_A_POOL = {
    "/pools/{pool}/": "Springt als Erster ein",
    "/pools/{pool}/history/": "Jeder Lauf nennt die Version",
    "/pools/{pool}/delete/": "schlagen von da an fehl",
    "/workers/{worker}/": "Speichern und testen",
    "/workers/{worker}/delete/": "bleiben aufgezeichnet",
    "/conductors/{conductor}/": "Wie er plant",
    "/conductors/{conductor}/delete/": "bleiben aufgezeichnet",
}


@pytest.fixture
def pool(cast):
    conductor = ConductorFactory.create(team=cast.team)
    return PoolFactory.create(team=cast.team, name="house", conductor=conductor)


@pytest.mark.release
@pytest.mark.parametrize(("address", "said"), (FIXED | OF_A_POOL).items())
def test_pages_about_models_are_german(german, pool, address, said):
    ids = {
        "pool": pool.id,
        "worker": pool.fallback_id,
        "conductor": pool.conductor_id,
    }
    page = text_of(german.get(address.format(**ids)))
    assert said in words(page)
    assert '<main id="main" class' in page


@pytest.mark.release
def test_faults_of_a_form_are_german_and_refusals_say_that_they_are_not(german, pool):
    page = words(text_of(german.post("/workers/new/", {"credential_id": "new"})))
    assert "Nichts wurde gespeichert." in page
    assert "Dieses Feld ist zwingend erforderlich." in page
    asked = {"list_models": "1", "base_url": "x", "credential_id": "none"}
    listed = text_of(german.post("/setup/?provider=other", asked))
    assert '<span lang="en">Must be an http or https URL with a host.</span>' in listed


@pytest.mark.release
def test_changes_of_a_pool_are_told_in_german(german, pool):
    german.post(f"/pools/{pool.id}/", pool_input(pool, retries_refusals="on"))
    page = words(text_of(german.get(f"/pools/{pool.id}/history/")))
    assert "Nach einer Ablehnung einen anderen Worker fragen" in page
    assert "ja" in page


@pytest.mark.release
def test_notice_of_a_pool_is_german_on_pages_and_english_for_programs(german, cast):
    pool = PoolFactory.create(team=cast.team, name="bare", conductor=None)
    pool.tiers.update(planner="single_worker")
    who = pool.fallback.name
    assert (
        "Die Ultra-Stufe plant nicht, weil der Pool keinen Conductor hat: "
        f"{who} antwortet allein."
    ) in words(text_of(german.get("/pools/")))
    (notice,) = german.get(f"/api/v1/pools/{pool.id}/").json()["notices"]
    assert notice["message"] == (
        "The ultra tier does not plan, because the pool has no conductor: "
        f"{who} answers alone. Choose a conductor."
    )


def test_price_that_is_not_known_says_so_where_no_heading_does(alice, cast):
    PoolFactory.create(team=cast.team)
    assert "price unknown" in words(text_of(alice.get("/pools/")))
