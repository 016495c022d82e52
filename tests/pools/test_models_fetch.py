"""Listing a provider's models before a worker is made of one."""

from __future__ import annotations

import socket
import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from apps.core.errors import InvalidFields
from apps.pools.errors import ProviderFailed
from apps.pools.providers.known_providers import KNOWN_PROVIDERS
from apps.pools.selectors import known_provider_list
from apps.pools.services import models_fetch
from apps.simulator.app import create_app
from tests.conftest import Cast
from tests.pools.making import CANARY, entries, make_credential, make_worker
from tests.serving import serving

fetched = async_to_sync(models_fetch)


def test_models_are_listed_by_name(cast: Cast, simulator_url: str):
    names = fetched(team_id=cast.team.id, base_url=f"{simulator_url}/")
    assert "sim-delta" in names
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("protocol", "path"), [("anthropic", "v1"), ("gemini", "v1beta")]
)
def test_models_are_listed_over_every_protocol(
    cast: Cast, simulator_url: str, protocol: str, path: str
):
    base_url = simulator_url.replace("/v1", f"/{path}")
    names = fetched(team_id=cast.team.id, base_url=base_url, protocol=protocol)
    assert "sim-delta" in names


def test_key_is_sent_as_each_protocol_wants_it(cast: Cast):
    with serving(create_app(speed=0, api_key=CANARY), ws="none") as url:
        for protocol, path in (("anthropic", "v1"), ("gemini", "v1beta")):
            names = fetched(
                team_id=cast.team.id,
                base_url=f"{url}/{path}",
                protocol=protocol,
                secret=CANARY,
            )
            assert "sim-delta" in names


def test_key_may_be_given_or_stored(cast: Cast):
    with serving(create_app(speed=0, api_key=CANARY), ws="none") as url:
        base_url = f"{url}/v1"
        key = make_credential(cast.team, base_url=base_url)
        for access in ({"secret": f" {CANARY} "}, {"credential_id": key.id}):
            names = fetched(team_id=cast.team.id, base_url=base_url, **access)
            assert "sim-delta" in names


def test_wrong_key_is_an_error_that_does_not_show_it(cast: Cast):
    with (
        serving(create_app(speed=0, api_key="right"), ws="none") as url,
        pytest.raises(ProviderFailed) as caught,
    ):
        fetched(team_id=cast.team.id, base_url=f"{url}/v1", secret=CANARY)
    assert caught.value.fault == "unauthorized"
    assert CANARY not in f"{caught.value!r} {caught.value.__context__!r}"


def test_stored_key_goes_to_its_own_host_alone(cast: Cast, simulator_url: str):
    key = make_credential(cast.team)
    with pytest.raises(InvalidFields, match="bound to") as caught:
        fetched(team_id=cast.team.id, base_url=simulator_url, credential_id=key.id)
    assert list(caught.value.fields) == ["credential_id"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"secret": ""}, "secret"),
        ({"secret": f"{CANARY}\nhost: x"}, "secret"),
        ({"credential_id": uuid.uuid4()}, "credential_id"),
        ({"protocol": "telepathy"}, "protocol"),
    ],
)
def test_bad_value_is_told_by_its_field(
    cast: Cast, simulator_url: str, values: dict[str, Any], field: str
):
    with pytest.raises(InvalidFields) as caught:
        fetched(team_id=cast.team.id, base_url=simulator_url, **values)
    assert list(caught.value.fields) == [field]
    assert CANARY not in str(caught.value.fields)


def test_wrong_path_is_a_typed_error(cast: Cast, simulator_url: str):
    with pytest.raises(ProviderFailed, match="404") as caught:
        fetched(team_id=cast.team.id, base_url=f"{simulator_url}/x")
    assert (caught.value.fault, caught.value.http_status) == ("not_found", 422)


def test_server_that_is_away_is_a_typed_error(cast: Cast):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ProviderFailed, match="refused"):
            fetched(team_id=cast.team.id, base_url=url)


def test_listing_records_nothing(cast: Cast, simulator_url: str):
    before = len(entries(cast.team))
    fetched(team_id=cast.team.id, base_url=simulator_url)
    assert len(entries(cast.team)) == before


@pytest.mark.parametrize("provider", KNOWN_PROVIDERS, ids=lambda provider: provider.id)
def test_provider_begins_a_worker(cast: Cast, provider):
    base_url = provider.base_url.replace("YOUR-", "my-")
    worker = make_worker(
        cast.team,
        name=provider.id,
        base_url=base_url,
        protocol=provider.protocol,
        max_tokens_field=provider.max_tokens_field,
    )
    assert (worker.base_url, worker.protocol) == (base_url, provider.protocol)
    assert provider.needs_key == provider.base_url.startswith("https://")


def test_providers_have_ids_of_their_own():
    assert (
        len({provider.id for provider in known_provider_list()})
        == len(KNOWN_PROVIDERS)
        == 15
    )
