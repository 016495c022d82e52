"""T8: what older versions stored is bound to a scheme when it is migrated."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.db.migrations.loader import MigrationLoader

from apps.accounts.models import Team
from apps.core.errors import SecretUnreadable
from apps.core.keyring import seal
from apps.pools.credentials import credential_open, credential_try
from apps.pools.errors import CredentialMismatch
from apps.pools.models import Credential
from tests.factories import ConductorFactory, TeamFactory, WorkerFactory
from tests.pools.making import CANARY

pytestmark = pytest.mark.django_db
step = import_module("apps.pools.migrations.0009_credentials_bound_to_scheme")


@pytest.fixture
def apps_then() -> Any:
    state = MigrationLoader(None).project_state(("pools", "0008_credential_scheme"))
    return state.apps


def stored_before(host: str, context: bytes = b"") -> Credential:
    """Return a row as older versions wrote it."""
    row = Credential(team=TeamFactory.create(), name="k", scheme="", host=host)
    place = b"credential:" + row.team_id.bytes + row.id.bytes + host.encode()
    row.sealed = seal(CANARY.encode(), context=context or place)
    row.save()
    return row


def use(row: Credential, *base_urls: str) -> None:
    for number, base_url in enumerate(base_urls):
        factory = ConductorFactory if number else WorkerFactory
        factory.create(team=row.team, base_url=base_url, credential=row)


@pytest.mark.parametrize(
    ("host", "base_urls", "scheme"),
    [
        ("h.example:443", ["https://h.example/v1"], "https"),
        ("h.example:8000", ["http://h.example:8000/v1"], "http"),
        ("h.example:8000", ["HTTP://h.example:8000/v1"], "http"),
        (
            "h.example:8000",
            ["http://h.example:8000", "https://h.example:8000"],
            "https",
        ),
        ("h.example:443", [], "https"),
        ("h.example:8000", [], "https"),
        ("h.example:80", [], "http"),
    ],
)
def test_scheme_is_that_of_the_models_which_use_it(
    apps_then: Any, host: str, base_urls: list[str], scheme: str
):
    row = stored_before(host)
    use(row, *base_urls)
    step.bind(apps_then, None)
    row.refresh_from_db()
    other = {"https": "http", "http": "https"}[scheme]
    assert credential_open(row, base_url=f"{scheme}://{host}/v1") == CANARY
    with pytest.raises(CredentialMismatch):
        credential_open(row, base_url=f"{other}://{host}/v1")


def test_what_does_not_open_stays_shut_and_keeps_nothing_else_from_being_bound(
    apps_then: Any, team: Team
):
    shut = stored_before("h.example:443", context=b"elsewhere")
    good = stored_before("h.example:443")
    step.bind(apps_then, None)
    shut.refresh_from_db()
    good.refresh_from_db()
    assert credential_open(good, base_url="https://h.example/v1") == CANARY
    with pytest.raises(CredentialMismatch):
        credential_open(shut, base_url="https://h.example/v1")
    with pytest.raises(SecretUnreadable):
        credential_try(shut)


def test_step_back_and_forth_loses_no_secret(apps_then: Any):
    row = stored_before("h.example:443")
    step.bind(apps_then, None)
    step.loosen(apps_then, None)
    row.refresh_from_db()
    assert row.scheme == ""
    step.bind(apps_then, None)
    row.refresh_from_db()
    assert credential_open(row, base_url="https://h.example/v1") == CANARY
