"""No base URL that points into the operator's network is ever saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from apps.accounts.models import Team
from apps.core.errors import InvalidFields
from apps.pools.errors import PoolDocumentInvalid
from apps.pools.models import Conductor, Credential, Worker
from apps.pools.services import models_fetch, worker_update
from tests.factories import ACTOR
from tests.pools.conftest import Import
from tests.pools.making import (
    URL,
    actions,
    make_conductor,
    make_credential,
    make_worker,
)

FORBIDDEN = [
    "http://127.0.0.1/v1",
    "http://127.1/v1",
    "http://127.0.0.1./v1",
    "http://0x7f000001/v1",
    "http://0X7F.1/v1",
    "http://2130706433/v1",
    "http://0177.0.0.1/v1",
    "http://0/v1",
    "http://localhost:8000/v1",
    "http://LocalHost./v1",
    "http://models.localhost/v1",
    "http://①②⑦.⓪.⓪.①/v1",
    "http://１２７.0.0.1/v1",
    "http://127。0。0。1/v1",
    "http://%31%32%37.0.0.1/v1",
    "http://[::1]/v1",
    "http://[::]/v1",
    "http://[::ffff:127.0.0.1]/v1",
    "http://[::ffff:7f00:1]/v1",
    "http://[::127.0.0.1]/v1",
    "http://[64:ff9b::7f00:1]/v1",
    "http://[64:ff9b:1::7f00:1]/v1",
    "http://[2002:7f00:1::]/v1",
    "http://[fe80::1%25eth0]/v1",
    "http://[fd00:ec2::254]/v1",
    "http://169.254.169.254/latest",
    "http://2852039166/latest",
    "http://10.0.0.1/v1",
    "http://172.16.0.1/v1",
    "http://192.168.1.1/v1",
    "http://100.64.0.1/v1",
    "http://user@example.com/v1",
    "http://user:word@example.com/v1",
    "http://example.com\\@127.0.0.1/v1",
    "http://example.com/v1?key=1",
    "http://example.com/v1#part",
    "http://example.com:99999/v1",
    "file:///etc/passwd",
    "gopher://example.com/",
    "ftp://example.com/v1",
    "javascript:alert(1)",
    "//example.com/v1",
    "example.com/v1",
    "http://",
    "http:///v1",
    "http://exa mple.com/v1",
    "http://example.com/v1\r\nhost: other",
    "http://example.com\x00/v1",
    "",
]


@pytest.fixture(autouse=True)
def public_addresses_alone(settings: Any) -> None:
    settings.MODEL_NETWORKS = []


def faults(call: Callable[[], object]) -> dict[str, list[str]]:
    with pytest.raises(InvalidFields) as caught:
        call()
    return caught.value.fields


@pytest.mark.parametrize("base_url", FORBIDDEN)
def test_no_worker_is_saved_with_it(team: Team, base_url: str):
    assert list(faults(lambda: make_worker(team, base_url=base_url))) == ["base_url"]
    assert not Worker.objects.for_team(team.id).exists()
    assert actions(team) == []


@pytest.mark.parametrize("base_url", FORBIDDEN)
def test_no_model_is_listed_from_it(team: Team, base_url: str):
    found = faults(
        lambda: async_to_sync(models_fetch)(team_id=team.id, base_url=base_url)
    )
    assert list(found) == ["base_url"]


def test_no_conductor_and_no_credential_either(team: Team):
    url = "http://127.1/v1"
    assert "base_url" in faults(lambda: make_conductor(team, base_url=url))
    assert "base_url" in faults(lambda: make_credential(team, base_url=url))
    assert not Conductor.objects.for_team(team.id).exists()
    assert not Credential.objects.for_team(team.id).exists()


def test_no_worker_is_moved_there(team: Team):
    worker = make_worker(team)
    values = {"base_url": "http://169.254.169.254/v1", "model": "other"}
    faults(lambda: worker_update(worker=worker, values=values, actor=ACTOR))
    worker.refresh_from_db()
    assert (worker.base_url, worker.model) == (URL, "big-1")


def test_pool_file_is_refused_with_every_such_address(team: Team, import_file: Import):
    with pytest.raises(PoolDocumentInvalid) as caught:
        import_file()
    assert [fault.split(":")[0] for fault in caught.value.faults] == [
        "workers[2].base_url",
        "conductor.base_url",
    ]
    assert not Worker.objects.for_team(team.id).exists()


def test_network_the_operator_lists_is_allowed(team: Team, settings: Any):
    settings.MODEL_NETWORKS = ["10.1.0.0/16"]
    worker = make_worker(team, base_url="http://10.1.2.3:8000/v1/")
    assert worker.base_url == "http://10.1.2.3:8000/v1"


def test_only_the_listed_ports_are_allowed_there(team: Team, settings: Any):
    settings.MODEL_NETWORKS, settings.MODEL_PORTS = ["10.1.0.0/16"], ["8000"]
    make_worker(team, base_url="http://10.1.2.3:8000/v1")
    found = faults(lambda: make_worker(team, base_url="http://10.1.2.3:5432/v1"))
    assert "base_url" in found
    assert make_worker(team, name="public", base_url="https://8.8.8.8:444/v1")
