"""Azure, Bedrock and Vertex through the wizard, up to a pool whose models answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from starlette.types import ASGIApp

from apps.audit.models import Entry
from apps.pools import selectors
from apps.pools.models import Conductor, Credential, Pool, Worker
from apps.pools.providers import known_providers
from apps.pools.selectors import last_test
from apps.simulator.app import create_app
from tests.clouds import AZURE_PATH, BEDROCK_PATH, Cloud
from tests.console.models import SECRET, signed_in, words
from tests.console.test_set_up import MODELS_URL, run_tests
from tests.google import PATH, Google, key_file
from tests.serving import serving

MODELS = "sim-conductor\nsim-atlas\nsim-delta"
CLOUDS = ("azure", "bedrock", "vertex")
Address = Callable[[str], tuple[str, str]]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    """Serve a cloud here; give the address of its models and a key for them."""
    with ExitStack() as stack:

        def serve(provider_id: str) -> tuple[str, str]:
            simulator = create_app(speed=0)
            path = PATH if provider_id == "vertex" else AZURE_PATH
            app: ASGIApp = (
                Google(simulator)
                if provider_id == "vertex"
                else Cloud(simulator, BEDROCK_PATH, SECRET)
            )
            url = stack.enter_context(serving(app, ws="none"))
            rows = known_providers.KNOWN_PROVIDERS
            known = next(each for each in rows if each.id == provider_id)
            here = dataclasses.replace(known, base_url=f"{url}{path}")
            for module in (known_providers, selectors):
                monkeypatch.setattr(module, "KNOWN_PROVIDERS", (here,))
            is_vertex = provider_id == "vertex"
            return here.base_url, key_file(f"{url}/token") if is_vertex else SECRET

        yield serve


@pytest.mark.parametrize("provider_id", CLOUDS)
def test_typed_models_of_a_cloud_come_to_work(cast, cloud, provider_id):
    base_url, key = cloud(provider_id)
    alice = signed_in(cast.alice)
    page = alice.get(f"/setup/?provider={provider_id}").content.decode()
    assert "List models" not in words(page)
    form = {
        "base_url": base_url,
        "protocol": "openai",
        "credential_id": "new",
        "secret": key,
        "max_tokens_field": "max_completion_tokens",
        "more_models": MODELS,
    }
    alice.post(f"/setup/?provider={provider_id}", form)
    run_tests(cast, alice)
    page = words(alice.get(MODELS_URL).content.decode())
    assert "All tests passed." in page
    alice.post(MODELS_URL)
    assert Pool.objects.for_team(cast.team.id).get().conductor is not None
    assert Worker.objects.for_team(cast.team.id).count() == 2
    assert Credential.objects.for_team(cast.team.id).count() == 1
    kept = repr(
        [bytes(each.canonical) for each in Entry.objects.for_team(cast.team.id)]
    )
    for secret in (SECRET, "PRIVATE KEY", "ya29.canary"):
        assert secret not in kept and secret not in page


@pytest.mark.parametrize("provider_id", CLOUDS)
def test_a_wrong_key_of_a_cloud_is_told(cast, cloud, provider_id):
    base_url, key = cloud(provider_id)
    alice = signed_in(cast.alice)
    wrong = key.replace("key-0123456789", "another")
    form = {
        "base_url": base_url,
        "protocol": "openai",
        "credential_id": "new",
        "secret": wrong if wrong != key else "sk-wrong",
        "max_tokens_field": "max_tokens",
        "more_models": "sim-delta",
    }
    alice.post(f"/setup/?provider={provider_id}", form)
    run_tests(cast, alice)
    page = words(alice.get(MODELS_URL).content.decode())
    assert "The provider refused the key." in page
    test = last_test(Conductor.objects.for_team(cast.team.id).get())
    assert test is not None and not test.ok
