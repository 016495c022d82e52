"""D4: a worker has parameters of its own, on record, and never a secret among them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_args

import pytest
from django.db.migrations.loader import MigrationLoader

from apps.accounts.models import Team
from apps.core.errors import InvalidFields
from apps.gateway.parsing.extra_params import EXTRA_FIELDS
from apps.llm.types import EXTRA_PARAMS
from apps.pools.errors import PoolDocumentInvalid
from apps.pools.models import ReasoningEffort, Worker
from apps.pools.param_fields import Effort
from apps.pools.selectors import (
    access_worker,
    pool_snapshot,
    pool_version_changes,
    pool_versions,
    worker_values,
)
from apps.pools.services import worker_create, worker_update
from apps.pools.types import Change
from tests.factories import ACTOR
from tests.pools.conftest import Import
from tests.pools.making import CANARY, entries, make_pool, make_worker, worker_of

GIVEN: dict[str, Any] = {
    "extra_params": ["min_p", "top_k"],
    "reasoning_effort": "low",
    "thinking_budget_tokens": 2048,
    "extra_body": {"enable_thinking": False, "a": {"temperature": 0.25}},
}
TEXT = '{"a":{"temperature":0.25},"enable_thinking":false}'


def test_the_gateway_reads_the_parameters_that_a_record_may_list() -> None:
    assert set(EXTRA_PARAMS) == EXTRA_FIELDS


def test_parameters_reach_the_call_and_the_ledger(team: Team) -> None:
    worker = worker_create(team=team, values=worker_of(**GIVEN), actor=ACTOR)
    make_pool(team, worker)
    (snapshot,) = pool_snapshot(team.id).workers
    assert snapshot.attributes.extra_params == ("min_p", "top_k")
    assert snapshot.endpoint.extra_body == GIVEN["extra_body"]
    assert snapshot.endpoint.default_params == {
        "reasoning_effort": "low",
        "thinking": {"type": "enabled", "budget_tokens": 2048},
    }
    created = [e for e in entries(team) if e.action == "worker.created"]
    recorded = created[0].data["after"]
    assert recorded["extra_body"] == TEXT
    assert recorded["reasoning_effort"] == "low"


def test_every_effort_may_be_set() -> None:
    assert set(get_args(Effort)) == {"", *ReasoningEffort.values}


def test_a_worker_without_any_has_nothing_to_add(team: Team) -> None:
    make_pool(team, make_worker(team))
    (snapshot,) = pool_snapshot(team.id).workers
    assert snapshot.attributes.extra_params == ()
    assert snapshot.endpoint.default_params is None
    assert snapshot.endpoint.extra_body is None


def test_other_changes_leave_them_as_they_are(team: Team) -> None:
    worker = worker_create(team=team, values=worker_of(**GIVEN), actor=ACTOR)
    worker_update(worker=worker, values={"description": "new"}, actor=ACTOR)
    values = worker_values(access_worker(team.id, worker.id))
    assert values["extra_body"] == TEXT
    assert values["thinking_budget_tokens"] == 2048


def test_a_change_of_them_is_a_new_version_of_the_pool(team: Team) -> None:
    worker = make_worker(team)
    pool = make_pool(team, worker)
    worker_update(worker=worker, values={"extra_body": TEXT}, actor=ACTOR)
    newer, older = pool_versions(team.id, pool.id)
    changes = pool_version_changes(older, newer)
    assert changes == [Change("workers.strong.extra_body", "", TEXT)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("extra_params", ["temperature"]),
        ("extra_params", "top_k"),
        ("reasoning_effort", "extreme"),
        ("thinking_budget_tokens", 0),
        ("extra_body", []),
        ("extra_body", "no JSON"),
        ("extra_body", '["a"]'),
        ("extra_body", {"model": "other"}),
        ("extra_body", {"stream": True}),
        ("extra_body", {"x": "y" * 8_000}),
        ("extra_body", {"api_key": "x"}),
        ("extra_body", {"x": CANARY}),
        ("extra_body", {"x": {"Authorization": "Bearer abcdefgh"}}),
        ("extra_body", {"x": {1, 2}}),
    ],
)
def test_what_could_do_harm_is_refused_and_not_quoted(
    team: Team, field: str, value: Any
) -> None:
    with pytest.raises(InvalidFields) as refused:
        worker_create(team=team, values=worker_of(**{field: value}), actor=ACTOR)
    (path,) = refused.value.fields
    assert path.partition("[")[0] == field
    assert CANARY not in str(refused.value.fields)
    assert not Worker.objects.for_team(team.id).exists()


def test_pool_files_hold_them(team: Team, import_file: Import) -> None:
    file = {f"workers__0__{name}": value for name, value in GIVEN.items()}
    import_file(**file)
    worker = Worker.objects.for_team(team.id).get(name="strong")
    assert worker.extra_body == GIVEN["extra_body"]
    assert worker.extra_params == ["min_p", "top_k"]
    assert not import_file(**file).has_changes
    with pytest.raises(PoolDocumentInvalid, match=r"workers\[0\].extra_body"):
        import_file(workers__0__extra_body={"messages": []})


def test_versions_of_before_are_completed(team: Team) -> None:
    pool = make_pool(team)
    whole = pool_versions(team.id, pool.id).get().document
    bare = [
        {name: value for name, value in worker.items() if name not in GIVEN}
        for worker in whole["workers"]
    ]
    pool_versions(team.id, pool.id).update(document={**whole, "workers": bare})
    step = import_module("apps.pools.migrations.0007_versions_with_parameters")
    then = MigrationLoader(None).project_state(("pools", "0006_worker_parameters"))
    step.complete_all(then.apps, None)
    assert pool_versions(team.id, pool.id).get().document == whole
