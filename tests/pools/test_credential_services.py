"""Changing credentials. The secret goes in and never comes out."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Team
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.core.input_parts import values_read
from apps.pools.credentials import credential_open
from apps.pools.models import Credential, Pool
from apps.pools.selectors import (
    access_credential,
    credential_list,
    credential_values,
    pool_versions,
)
from apps.pools.service_inputs import CredentialInput
from apps.pools.services import (
    credential_delete,
    credential_update,
    models_fetch,
    worker_update,
)
from tests.factories import ACTOR, TeamFactory
from tests.pools.making import (
    CANARY,
    URL,
    actions,
    entries,
    make_conductor,
    make_credential,
    make_pool,
    make_worker,
)


def update(credential: Credential, **values: Any) -> Credential:
    return credential_update(credential=credential, values=values, actor=ACTOR)


def test_host_comes_from_the_base_url(team: Team):
    row = make_credential(team, base_url="https://API.Example.com/v1", name=" main ")
    assert credential_values(row) == {
        "name": "main",
        "scheme": "https",
        "host": "api.example.com:443",
    }
    assert credential_open(row, base_url=URL) == CANARY
    assert entries(team)[0].data["after"]["host"] == "api.example.com:443"


def test_same_name_may_serve_another_scheme_with_a_secret_of_its_own(team: Team):
    """T8: to use a key over http, it must be stored for http."""
    make_credential(team, base_url="https://api.example.com:8000/v1")
    other = make_credential(
        team, base_url="http://api.example.com:8000/v1", secret="sk-other"
    )
    assert credential_open(other, base_url="http://api.example.com:8000") == "sk-other"
    assert [row.scheme for row in credential_list(team.id)] == ["http", "https"]


def test_worker_cannot_move_its_key_from_https_to_http(team: Team):
    """T8: a change of the address leaves the key behind."""
    row = make_credential(team, base_url="https://api.example.com:8000/v1")
    place = {"base_url": "https://api.example.com:8000/v1"}
    worker = make_worker(team, credential_id=str(row.id), **place)
    with pytest.raises(InvalidFields) as caught:
        worker_update(
            worker=worker,
            values={"base_url": "http://api.example.com:8000/v1"},
            actor=ACTOR,
        )
    assert list(caught.value.fields) == ["credential_id"]


def test_same_name_may_serve_another_host(team: Team):
    make_credential(team)
    make_credential(team, base_url="https://other.com/v1")
    with pytest.raises(InvalidFields) as caught:
        make_credential(team, secret="sk-other")
    assert list(caught.value.fields) == ["name"]
    assert credential_list(team.id).count() == 2


def test_new_secret_replaces_the_old_one(team: Team):
    row = make_credential(team)
    update(row, secret="sk-new")
    fresh = access_credential(team.id, row.id)
    assert credential_open(fresh, base_url=URL) == "sk-new"
    entry = entries(team)[-1]
    assert entry.action == "credential.updated"
    assert entry.data["is_secret_replaced"] is True


def test_rename_keeps_the_secret(team: Team):
    row = update(make_credential(team), name="renamed")
    assert credential_open(row, base_url=URL) == CANARY
    assert entries(team)[-1].data["after"] == {"name": "renamed"}


def test_update_that_changes_nothing_records_nothing(team: Team):
    update(make_credential(team), name="provider", secret=CANARY)
    assert actions(team) == ["credential.created"]


def test_taken_name_is_refused_on_rename(team: Team):
    make_credential(team)
    other = make_credential(team, name="other")
    with pytest.raises(InvalidFields, match="already"):
        update(other, name="provider")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"base_url": "https://other.com/v1"}, "base_url"),
        ({"host": "other.com:443"}, "host"),
        ({"scheme": "http"}, "scheme"),
        ({"sealed": "x"}, "sealed"),
        ({"name": None}, "name"),
        ({"secret": ""}, "secret"),
    ],
)
def test_update_refuses_all_but_name_and_secret(
    team: Team, values: dict[str, Any], field: str
):
    row = make_credential(team)
    with pytest.raises(InvalidFields) as caught:
        update(row, **values)
    assert list(caught.value.fields) == [field]
    assert access_credential(team.id, row.id).host == "api.example.com:443"


def test_replaced_secret_is_a_new_version_of_the_pools_that_use_it(team: Team):
    row = make_credential(team)
    pool = make_pool(team, make_worker(team, credential_id=str(row.id)))
    update(row, secret="sk-new")
    assert Pool.objects.for_team(team.id).get().version == 2
    assert CANARY not in repr([v.document for v in pool_versions(team.id, pool.id)])


def test_credential_in_use_stays(team: Team):
    row = make_credential(team)
    make_worker(team, credential_id=str(row.id))
    make_conductor(team, credential_id=str(row.id))
    with pytest.raises(Conflict, match="'strong', 'planner'"):
        credential_delete(credential=row, actor=ACTOR)
    assert credential_list(team.id).count() == 1


def test_unused_credential_goes(team: Team):
    row = make_credential(team)
    credential_delete(credential=row, actor=ACTOR)
    assert actions(team)[-1] == "credential.deleted"
    with pytest.raises(NotFound):
        update(row, name="x")


@pytest.mark.django_db(transaction=True)
def test_credential_of_another_team_is_not_found(team: Team):
    foreign = make_credential(TeamFactory.create())
    with pytest.raises(NotFound):
        access_credential(team.id, foreign.id)
    with pytest.raises(InvalidFields, match="does not exist"):
        async_to_sync(models_fetch)(
            team_id=team.id, base_url=URL, credential_id=foreign.id
        )


@pytest.mark.parametrize("end", ["\nx: y", " two", "é", "\x00", "x" * 4001])
@pytest.mark.parametrize("wrong", ["secret", "name", "base_url", "surprise"])
def test_canary_is_in_no_error(team: Team, end: str, wrong: str):
    values = {wrong: f"{CANARY}{end}", "secrets": CANARY}
    with pytest.raises(InvalidFields) as caught:
        make_credential(team, **values)
    error = caught.value
    told = "".join(traceback.format_exception(error))
    assert CANARY not in f"{told} {error.fields} {error!r} {error.__context__!r}"


def test_canary_is_in_no_statement_entry_or_text(team: Team):
    with CaptureQueriesContext(connection) as queries:
        row = make_credential(team)
        update(row, secret=f"{CANARY}2")
        pool = make_pool(team, make_worker(team, credential_id=str(row.id)))
    given = values_read(
        CredentialInput, {"name": "x", "base_url": URL, "secret": CANARY}
    )
    rows = list(Credential.objects.for_team(team.id))
    versions = [v.__dict__ for v in pool_versions(team.id, pool.id)]
    shown = [queries.captured_queries, entries(team), rows, versions, given, str(given)]
    assert not any(CANARY in repr(thing) for thing in shown)
