"""One field that leads to real models: a provider's key, or a server's address."""

from __future__ import annotations

import re
import uuid

import pytest

from apps.audit.models import Entry
from apps.pools.models import Credential, Pool, Worker
from apps.pools.selectors import provider_of_key
from tests.console.models import SECRET, signed_in, words
from tests.console.test_set_up import MODELS_URL, run_tests, sent
from tests.factories import PoolFactory

URL = "/setup/connect/"
DIGITS = "0123456789" * 10


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.mark.parametrize(
    ("key", "provider_id"),
    [
        (f"sk-proj-{DIGITS}", "openai"),
        (f"sk-{DIGITS[:48]}", "openai"),
        (f"sk-ant-api03-{DIGITS}", "anthropic"),
        (f"AIza{DIGITS[:35]}", "gemini"),
        (DIGITS[:31] + "x", "mistral"),
        (f"gsk_{DIGITS[:52]}", "groq"),
        (f"sk-or-v1-{DIGITS[:64]}", "openrouter"),
        (f"sk-{DIGITS[:32]}", "deepseek"),
        (f"xai-{DIGITS[:80]}", "xai"),
    ],
)
def test_a_key_tells_whose_it_is(key, provider_id):
    found = provider_of_key(key)
    assert found is not None
    assert found.id == provider_id


@pytest.mark.parametrize("key", ["", "sk-", "hello", "sk-ant-", DIGITS, "x" * 4_000])
def test_other_texts_are_no_keys(key):
    assert provider_of_key(key) is None


def test_a_key_is_stored_and_its_models_are_there_to_mark(cast, alice, listed_provider):
    page = alice.post(URL, {"access": f" {SECRET} "}).content.decode()
    key = Credential.objects.for_team(cast.team.id).get()
    assert key.is_bound_to(listed_provider.base_url)
    assert SECRET not in page
    assert f'action="/setup/?provider={listed_provider.id}"' in page
    assert f'value="{key.id}" selected' in page
    assert page.count('data-rank="0" checked') == 1
    assert len(re.findall(r'name="models"[^>]* checked>', page)) == 3
    for entry in Entry.objects.for_team(cast.team.id):
        assert SECRET.encode() not in bytes(entry.canonical)


def test_a_key_that_is_stored_is_used_again(cast, alice, listed_provider):
    for _ in range(2):
        alice.post(URL, {"access": SECRET})
    key = Credential.objects.for_team(cast.team.id).get()
    pasted = sent(listed_provider.base_url, "sim-delta")
    alice.post(
        f"/setup/?provider={listed_provider.id}",
        {**pasted, "credential_id": "new", "secret": SECRET},
    )
    worker = Worker.objects.for_team(cast.team.id).get()
    assert worker.credential == key
    assert Credential.objects.for_team(cast.team.id).count() == 1
    kept = Entry.objects.for_team(cast.team.id).filter(action="credential.created")
    assert kept.count() == 1


def test_another_key_of_the_same_provider_is_stored_beside_it(
    cast, alice, listed_provider
):
    for secret in (SECRET, f"{SECRET[:3]}another"):
        data = sent(listed_provider.base_url, "sim-delta", secret=secret)
        alice.post(
            f"/setup/?provider={listed_provider.id}", {**data, "credential_id": "new"}
        )
    rows = Credential.objects.for_team(cast.team.id).order_by("name")
    assert [row.name for row in rows] == ["Lab", "Lab 2"]


def test_a_key_that_is_refused_is_not_stored(cast, alice, listed_provider):
    wrong = f"{SECRET[:3]}wrong"
    page = words(alice.post(URL, {"access": wrong}).content.decode())
    assert "The models could not be listed." in page
    assert wrong not in page
    assert not Credential.objects.for_team(cast.team.id).exists()


def test_an_address_needs_no_key(cast, alice, simulator_url):
    page = alice.post(URL, {"access": simulator_url}).content.decode()
    assert f'value="{simulator_url}"' in page
    assert 'value="sim-delta"' in page
    assert not Credential.objects.for_team(cast.team.id).exists()


def test_an_address_outside_of_the_networks_is_not_asked(alice):
    page = words(alice.post(URL, {"access": "http://10.0.0.1"}).content.decode())
    assert "10.0.0.1 is not in an allowed network" in page


@pytest.mark.parametrize("text", ["correct horse", "http://[correct horse", ""])
def test_what_is_neither_leads_to_the_providers(alice, text):
    answer = alice.post(URL, {"access": text}, follow=True)
    assert answer.redirect_chain[-1][0] == "/setup/?access=unknown"
    page = answer.content.decode()
    assert 'id="connect-error" role="alert"' in page
    assert "Choose the provider below, then paste the key there" in words(page)
    assert "correct horse" not in page
    assert "connect-error" not in alice.get("/setup/").content.decode()


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_may_not_connect_models(cast, who, simulator_url):
    client = signed_in(getattr(cast, who))
    assert client.post(URL, {"access": simulator_url}).status_code == 403


def test_the_question_is_asked_again_in_a_pool_of_real_models(
    cast, alice, simulator_url
):
    simulated = PoolFactory.create(team=cast.team, name="demo", is_default=True)
    for worker in simulated.enabled_workers:
        worker.tags = ["simulated"]
        worker.save()
    run_id = str(uuid.uuid4())
    alice.post(URL, {"access": simulator_url, "run": run_id})
    models = sent(simulator_url, "sim-conductor", "sim-atlas", "sim-delta")
    alice.post("/setup/?provider=other", models)
    run_tests(cast, alice)
    page = words(alice.get(MODELS_URL).content.decode())
    assert "Make a pool" in page
    assert alice.post(MODELS_URL).url == f"/?from={run_id}"
    default = Pool.objects.for_team(cast.team.id).get(is_default=True)
    assert default.name == "main"
    real = Worker.objects.for_team(cast.team.id).filter(base_url=simulator_url)
    assert set(default.enabled_workers) == set(real)
    simulated.refresh_from_db()
    assert not simulated.is_default
    assert alice.post(MODELS_URL).url == "/?sample=1"
