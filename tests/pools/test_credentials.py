"""Providers' keys at rest: where they open, and where they never appear."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Team
from apps.audit.models import Entry
from apps.core.errors import ConductorError, SecretUnreadable
from apps.core.scoping import UnscopedQuery
from apps.pools.credentials import credential_holds, credential_open
from apps.pools.errors import CredentialMismatch
from apps.pools.models import Credential
from apps.pools.selectors import pool_snapshot
from apps.pools.services import credential_set
from tests.factories import ACTOR, TeamFactory
from tests.pools.conftest import Import
from tests.pools.files import CANARY

pytestmark = pytest.mark.django_db
URL = "https://api.example.com/v1"


def store(
    team: Team | None = None,
    name: str = "KEY",
    secret: str = CANARY,
    base_url: str = URL,
) -> Credential:
    return credential_set(
        team=team or TeamFactory.create(),
        name=name,
        base_url=base_url,
        secret=secret,
        actor=ACTOR,
    )


def test_secret_opens_in_its_own_row():
    row = Credential.objects.across_teams().get(pk=store().pk)
    assert credential_open(row, base_url=URL) == CANARY


@pytest.mark.parametrize(
    "base_url",
    [
        "https://evil.example/v1",
        "http://api.example.com/v1",
        "https://api.example.com:8/",
        "http://api.example.com:443/v1",
    ],
)
def test_secret_goes_to_no_other_address(base_url: str):
    with pytest.raises(CredentialMismatch) as caught:
        credential_open(store(), base_url=base_url)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("port", ["", ":443", ":8443"])
def test_secret_given_for_https_is_never_sent_over_http(port: str):
    """T8: nor at the same host and port."""
    row = store(base_url=f"https://api.example.com{port}/v1")
    with pytest.raises(CredentialMismatch, match=r"https://.* not sent to 'http://"):
        credential_open(row, base_url=f"http://api.example.com{port or ':443'}/v1")
    assert credential_open(row, base_url=f"https://api.example.com{port}") == CANARY


def test_secret_given_for_http_is_never_sent_over_https():
    """T8: it is bound to what it was stored for, whichever that is."""
    row = store(base_url="http://models.example:8000/v1")
    with pytest.raises(CredentialMismatch):
        credential_open(row, base_url="https://models.example:8000/v1")
    assert credential_open(row, base_url="http://models.example:8000") == CANARY


def test_row_does_not_open_when_its_scheme_was_changed():
    """T8: whoever writes to the database cannot turn https into http."""
    row = store(base_url="https://api.example.com/v1")
    row.scheme = "http"
    with pytest.raises(SecretUnreadable):
        credential_open(row, base_url="http://api.example.com:443/v1")


def test_sealed_bytes_do_not_open_in_another_row():
    team = TeamFactory.create()
    row, other = store(team), store(team, "OTHER", "sk-other")
    other.sealed = row.sealed
    with pytest.raises(SecretUnreadable):
        credential_open(other, base_url=URL)


def test_row_does_not_open_under_another_team():
    row = store()
    row.team = TeamFactory.create()
    with pytest.raises(SecretUnreadable):
        credential_open(row, base_url=URL)


def test_row_does_not_open_when_its_host_was_changed():
    row = store()
    row.host = "evil.example:443"
    with pytest.raises(SecretUnreadable):
        credential_open(row, base_url="https://evil.example/v1")


def test_same_secret_again_records_nothing():
    team = TeamFactory.create()
    store(team)
    store(team)
    assert Entry.objects.for_team(team.id).count() == 1


def test_row_that_does_not_open_holds_nothing():
    row = store()
    row.team = TeamFactory.create()
    assert not credential_holds(row, CANARY)


def test_query_without_a_team_is_refused():
    with pytest.raises(UnscopedQuery):
        Credential.objects.count()


def test_canary_is_in_no_statement_entry_or_text(team: Team, import_file: Import):
    with CaptureQueriesContext(connection) as queries:
        report = import_file()
        snapshot = pool_snapshot(team.id)
    rows = list(Credential.objects.for_team(team.id))
    entries = [entry.__dict__ for entry in Entry.objects.for_team(team.id)]
    shown = [queries.captured_queries, report, snapshot, rows, entries, *map(str, rows)]
    assert snapshot.workers[0].endpoint.api_key == CANARY
    assert not any(CANARY in repr(thing) for thing in shown)


def test_canary_is_in_no_error(team: Team, import_file: Import):
    import_file()
    Credential.objects.for_team(team.id).update(host="evil.example:443")
    with pytest.raises(ConductorError) as caught:
        pool_snapshot(team.id)
    assert CANARY not in f"{caught.value} {caught.value!r}"


def test_canary_is_in_no_byte_of_the_database(
    team: Team, import_file: Import, tmp_path: Path
):
    if connection.vendor != "sqlite":
        pytest.skip("reads the database file")
    import_file()
    store(team, "MARK", "sk-mark")
    with connection.cursor() as cursor:
        dump = "\n".join(cursor.connection.iterdump())
    assert isinstance(cursor.connection, sqlite3.Connection)
    assert "PROVIDER_KEY" in dump
    assert CANARY not in dump
    assert CANARY.encode().hex() not in dump.lower()
