"""Which model a worker's name stands for."""

from __future__ import annotations

import pytest

from apps.pools.model_fingerprints import model_fingerprint, worker_fingerprint
from apps.pools.models import Worker
from apps.pools.selectors import access_pool_version, pool_snapshot
from apps.pools.services import worker_update
from tests.factories import ACTOR
from tests.pools.making import make_pool, make_worker

USUAL = {"base_url": "https://api.example.com/v1", "model": "big-1"}


@pytest.mark.parametrize(
    "change",
    [
        {"model": "big-2"},
        {"base_url": "https://api.example.org/v1"},
        {"base_url": "https://api.example.com/v2"},
        {"protocol": "anthropic"},
        {"reasoning_effort": "high"},
        {"thinking_budget_tokens": 2_000},
        {"extra_body": {"temperature": 1.5}},
    ],
)
def test_what_changes_answers_is_another_model(change):
    assert model_fingerprint(USUAL) != model_fingerprint({**USUAL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://API.example.com:443/v1/"},
        {"protocol": "openai"},
        {"reasoning_effort": "", "thinking_budget_tokens": None, "extra_body": {}},
        {"name": "other", "description": "Better.", "tags": ["eu"]},
        {"max_output_tokens": 10, "timeouts": {"total_s": 5}, "price": None},
    ],
)
def test_nothing_else_is(change):
    assert model_fingerprint(USUAL) == model_fingerprint({**USUAL, **change})


def test_the_order_of_a_body_is_no_difference():
    one, other = {"top_k": 3, "seed": 1}, {"seed": 1, "top_k": 3}
    assert model_fingerprint({**USUAL, "extra_body": one}) == model_fingerprint(
        {**USUAL, "extra_body": other}
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_on_the_same_machine_the_port_is_no_difference(host):
    one, other = (
        model_fingerprint({"base_url": f"http://{host}:{port}/v1", "model": "big-1"})
        for port in (8100, 40_000)
    )
    assert one == other
    elsewhere = [{**USUAL, "base_url": f"http://10.0.0.1:{n}/v1"} for n in (1, 2)]
    assert model_fingerprint(elsewhere[0]) != model_fingerprint(elsewhere[1])


@pytest.mark.django_db
def test_row_version_and_snapshot_have_the_same_one(team):
    worker = make_worker(team, name="one")
    values = {"reasoning_effort": "low", "extra_body": {"temperature": 0.5}}
    pool = make_pool(team, worker)
    worker_update(worker=worker, values=values, actor=ACTOR)
    now = worker_fingerprint(Worker.objects.for_team(team.id).get())
    (written,) = access_pool_version(team.id, pool.id, 2).document["workers"]
    assert model_fingerprint(written) == now
    assert pool_snapshot(team.id, "main").workers[0].fingerprint == now
    (before,) = access_pool_version(team.id, pool.id, 1).document["workers"]
    assert model_fingerprint(before) != now
