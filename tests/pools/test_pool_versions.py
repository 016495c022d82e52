"""What a pool was at each version, and what changed in between."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Team
from apps.core.errors import NotFound
from apps.pools.models import Pool
from apps.pools.selectors import (
    access_pool,
    access_pool_version,
    pool_values,
    pool_version_changes,
    pool_versions,
)
from apps.pools.services import (
    conductor_update,
    credential_update,
    pool_update,
    worker_create,
    worker_update,
)
from apps.pools.types import Change
from tests.factories import ACTOR, PoolFactory, TeamFactory
from tests.pools.conftest import Import
from tests.pools.making import (
    entries,
    make_conductor,
    make_credential,
    make_pool,
    make_worker,
    worker_of,
)

versions_of_before = import_module("apps.pools.migrations.0004_versions_of_before")
WORKER = versions_of_before.WORKER
before_refusals = import_module(
    "apps.pools.migrations.0011_versions_of_before_refusals"
)
before_styles = import_module(
    "apps.pools.migrations.0023_versions_with_styles_and_delegation"
)


def changes(pool: Pool, older: int, newer: int) -> list[Change]:
    versions = [
        access_pool_version(pool.team_id, pool.id, number) for number in (older, newer)
    ]
    return pool_version_changes(*versions)


@pytest.fixture
def pool(team: Team) -> Pool:
    key = str(make_credential(team).id)
    workers = [
        make_worker(team, name=name, credential_id=key) for name in ("one", "two")
    ]
    return make_pool(team, *workers, conductor_id=str(make_conductor(team).id))


def test_new_pool_has_its_first_version(pool: Pool):
    (version,) = pool_versions(pool.team_id, pool.id)
    assert (version.version, version.actor_name) == (1, "tests")
    assert version.document["fallback"] == "one"
    assert [w["name"] for w in version.document["workers"]] == ["one", "two"]


def test_newest_version_comes_first(pool: Pool):
    pool_update(pool=pool, values={"name": "new"}, actor=ACTOR)
    numbers = [row.version for row in pool_versions(pool.team_id, pool.id)]
    assert numbers == [2, 1]
    assert changes(pool, 1, 2) == [Change("name", "main", "new")]
    assert changes(pool, 2, 1) == [Change("name", "new", "main")]
    assert changes(pool, 2, 2) == []


def test_change_of_a_worker_is_a_version_of_every_pool_it_works_for(pool: Pool):
    second = make_pool(pool.team, pool.fallback, name="second")
    alone = make_pool(pool.team, make_worker(pool.team), name="alone")
    values = {"model": "big-2", "price": {"input_usd": "1", "output_usd": "2"}}
    worker_update(worker=pool.fallback, values=values, actor=ACTOR)
    for each in (pool, second):
        by_path = {change.path: change for change in changes(each, 1, 2)}
        assert by_path["workers.one.model"] == Change(
            "workers.one.model", "big-1", "big-2"
        )
        (path,) = (path for path in by_path if path.endswith(".input_usd"))
        assert by_path[path].after == "1"
    assert access_pool(pool.team_id, alone.id).version == 1
    told = [e.subject_id for e in entries(pool.team) if e.action == "pool.changed"]
    assert sorted(told) == sorted([pool.id, second.id])


def test_renamed_worker_keeps_its_other_values(pool: Pool):
    worker_update(worker=pool.fallback, values={"name": "first"}, actor=ACTOR)
    assert changes(pool, 1, 2) == [
        Change("workers", ["one", "two"], ["first", "two"]),
        Change("workers.first.name", "one", "first"),
        Change("fallback", "one", "first"),
    ]


def test_new_and_lost_workers_are_told_with_all_they_are(pool: Pool):
    three = worker_create(team=pool.team, values=worker_of(name="three"), actor=ACTOR)
    one, _two = pool_values(pool)["worker_ids"]
    pool_update(pool=pool, values={"worker_ids": [one, str(three.id)]}, actor=ACTOR)
    found = {change.path: change for change in changes(pool, 1, 2)}
    assert found["workers"].after == ["one", "three"]
    assert found["workers.three.model"] == Change("workers.three.model", None, "big-1")
    assert found["workers.two.model"].after is None


@pytest.mark.parametrize(
    ("kind", "values", "path"),
    [
        ("conductor", {"temperature": "0.5"}, "conductor.temperature"),
        ("credential", {"secret": "sk-2"}, "workers.one.credential.set_at"),
        ("credential", {"name": "renamed"}, "workers.one.credential.name"),
        ("pool", {"tiers": {"mini": {"max_calls": 9}}}, "tiers.mini.max_calls"),
        ("pool", {"tiers": {"ultra": None}}, "tiers.ultra.max_steps"),
        ("worker", {"tags": ["eu"]}, "workers.one.tags"),
        ("worker", {"is_enabled": False}, "workers.one.is_enabled"),
        ("worker", {"timeouts": {"total_s": 9}}, "workers.one.timeouts.total_s"),
    ],
)
def test_whatever_changes_is_in_the_next_version(
    pool: Pool, kind: str, values: dict[str, Any], path: str
):
    conductor, credential = pool.conductor, pool.fallback.credential
    assert conductor is not None
    assert credential is not None
    call: Any = {
        "conductor": lambda: conductor_update(
            conductor=conductor, values=values, actor=ACTOR
        ),
        "credential": lambda: credential_update(
            credential=credential, values=values, actor=ACTOR
        ),
        "pool": lambda: pool_update(pool=pool, values=values, actor=ACTOR),
        "worker": lambda: worker_update(
            worker=pool.fallback, values=values, actor=ACTOR
        ),
    }
    call[kind]()
    assert path in {change.path for change in changes(pool, 1, 2)}
    assert access_pool(pool.team_id, pool.id).version == 2


def test_imports_are_versions_too(team: Team, import_file: Import):
    import_file()
    import_file(workers__0__model="big-2")
    (pool,) = Pool.objects.for_team(team.id)
    assert changes(pool, 1, 2) == [Change("workers.strong.model", "big-1", "big-2")]


def test_pool_from_before_versions_were_kept_is_written_down_first(team: Team):
    pool = PoolFactory.create(team=team)
    worker_update(worker=pool.fallback, values={"model": "new"}, actor=ACTOR)
    assert changes(pool, 1, 2) == [Change("workers.alpha.model", "alpha", "new")]
    older = access_pool_version(team.id, pool.id, 1)
    assert older.actor_name == ""


def test_versions_of_another_team_are_not_found(pool: Pool):
    other = TeamFactory.create()
    assert not pool_versions(other.id, pool.id).exists()
    with pytest.raises(NotFound):
        access_pool_version(other.id, pool.id, 1)
    with pytest.raises(NotFound):
        access_pool_version(pool.team_id, pool.id, 2)


def test_change_costs_the_same_queries_however_large_the_team(team: Team):
    def queries_of_a_change() -> int:
        worker = make_pool(
            team, make_worker(team, name=f"w{len(counts)}"), name=f"p{len(counts)}"
        ).fallback
        with CaptureQueriesContext(connection) as queries:
            worker_update(worker=worker, values={"model": "x"}, actor=ACTOR)
        return len(queries)

    counts: list[int] = []
    for _ in range(4):
        counts.append(queries_of_a_change())
    assert counts[1] == counts[3]


def test_abilities_and_places_are_part_of_a_version(pool: Pool):
    one, two = (place.worker for place in pool.places.all())
    worker_update(worker=one, values={"accepts_images": True}, actor=ACTOR)
    spared = {"no_substitute_ids": [str(two.id)]}
    pool_update(pool=pool, values=spared, actor=ACTOR)
    assert changes(pool, 1, 2) == [Change("workers.one.accepts_images", False, True)]
    assert changes(pool, 2, 3) == [Change("workers.two.may_substitute", True, False)]


def test_version_of_before_abilities_is_completed(pool: Pool):
    """What the migration adds is what pools had all along: nothing has changed."""
    (version,) = pool_versions(pool.team_id, pool.id)
    document = copy.deepcopy(version.document)
    for worker in document["workers"]:
        for name in WORKER:
            del worker[name]
    for tier in document["tiers"].values():
        del tier["delivery"], tier["is_hedged"]
    del document["conductor"]["protocol"], document["conductor"]["context_tokens"]
    assert versions_of_before.complete(document) == version.document
    none = {**document, "conductor": None}
    assert versions_of_before.complete(none)["conductor"] is None


def test_migration_completes_every_version(pool: Pool):
    whole = pool_versions(pool.team_id, pool.id).get().document
    tiers: dict[str, Any] = {"mini": {}, "ultra": {}}
    bare = {**whole, "tiers": tiers}
    pool_versions(pool.team_id, pool.id).update(document=bare)
    then = MigrationLoader(None).project_state(
        ("pools", "0003_protocols_and_abilities")
    )
    versions_of_before.complete_all(then.apps, None)
    row = pool_versions(pool.team_id, pool.id).get()
    assert row.document["tiers"]["mini"] == versions_of_before.TIER


def test_version_of_before_brief_prompts_and_delegation_is_completed(pool: Pool):
    (version,) = pool_versions(pool.team_id, pool.id)
    document = copy.deepcopy(version.document)
    del document["conductor"]["prompt_style"]
    for tier in document["tiers"].values():
        del tier["allows_delegation"]
    assert before_styles.completed(document) == version.document
    none = {**document, "conductor": None}
    assert before_styles.completed(none)["conductor"] is None


def test_version_of_before_refusals_is_completed(pool: Pool):
    (version,) = pool_versions(pool.team_id, pool.id)
    document = copy.deepcopy(version.document)
    del document["retries_refusals"]
    for model in (document["conductor"], *document["workers"]):
        del model["timeouts"]["first_token_s"]
    assert before_refusals.complete(document) == version.document
    none = {**document, "conductor": None}
    assert before_refusals.complete(none)["conductor"] is None


def test_whether_refusals_are_retried_is_part_of_a_version(pool: Pool):
    pool_update(pool=pool, values={"retries_refusals": True}, actor=ACTOR)
    assert changes(pool, 1, 2) == [Change("retries_refusals", False, True)]
