"""One worker of any pool, by `worker/<name>` or `<pool>/worker/<name>`.

The wider name reaches nothing that the shorter one would not: it takes the same scope,
and a key stays held to its workers.
"""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest

from apps.core.errors import NotFound
from apps.runs.models import Run
from apps.runs.planning.model_resolver import (
    ModelName,
    direct_model,
    is_direct,
    parse_model,
)
from tests.conftest import Site
from tests.factories import PoolFactory, issue_key

SIDE = "lab/worker/sim-birch"


@pytest.fixture
def two_pools(site: Site) -> Site:
    """A site whose team has a second pool: `lab`, with a worker of its own."""
    pool = PoolFactory.create(
        team=site.cast.team,
        name="lab",
        base_url=site.simulator_url,
        workers=("instant",),
        is_default=False,
    )
    birch = site.cast.team.workers.get(name="sim-birch")
    pool.places.create(team=site.cast.team, worker=birch, position=1)
    return site


def post(
    site: Site, path: str, body: Mapping[str, object], secret: str
) -> httpx.Response:
    headers = {"authorization": f"Bearer {secret}"}
    return httpx.post(f"{site.api_url}{path}", json=body, headers=headers, timeout=30)


def listed(site: Site, secret: str) -> list[str]:
    headers = {"authorization": f"Bearer {secret}"}
    answer = httpx.get(f"{site.api_url}/models", headers=headers, timeout=30)
    return [entry["id"] for entry in answer.json()["data"]]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("worker/a", ModelName(None, "direct", "a")),
        ("lab/worker/a", ModelName("lab", "direct", "a")),
        ("worker/worker/a", ModelName("worker", "direct", "a")),
        ("my-worker/worker/a", ModelName("my-worker", "direct", "a")),
        ("lab/mini", ModelName("lab", "mini")),
        ("worker/mini", ModelName(None, "direct", "mini")),
    ],
)
def test_a_direct_name_says_its_pool_and_worker(model: str, name: ModelName) -> None:
    assert parse_model(model) == name
    assert is_direct(model) is (name.tier == "direct")
    if is_direct(model):
        assert direct_model(name.worker, name.pool) == model


@pytest.mark.parametrize(
    "model",
    ["lab/worker", "/worker/a", "lab/x/worker/a", "lab/worker/a/b", "lab /worker/a"],
)
def test_what_only_looks_like_a_direct_name_leads_nowhere(model: str) -> None:
    assert not is_direct(model)
    with pytest.raises(NotFound):
        parse_model(model)


@pytest.mark.parametrize(
    ("path", "field"),
    [("/chat/completions", "messages"), ("/responses", "input")],
)
def test_a_worker_of_any_pool_is_called_directly(
    two_pools: Site, path: str, field: str
) -> None:
    question = "What is 2 + 2?"
    asked = question if field == "input" else [{"role": "user", "content": question}]
    body = {"model": "lab/worker/instant", field: asked}
    answer = post(two_pools, path, body, two_pools.key)
    assert answer.status_code == 200, answer.text
    run = Run.objects.for_team(two_pools.cast.team.id).get()
    assert (run.pool_name, run.steps.get().worker) == ("lab", "instant")
    # As with `worker/<name>`: without a plan there is no progress to tell.
    assert "reasoning" not in [item["type"] for item in answer.json().get("output", ())]


@pytest.mark.parametrize("path", ["/chat/completions", "/responses"])
def test_a_worker_of_any_pool_needs_the_scope_for_direct_calls(
    two_pools: Site, path: str
) -> None:
    key = issue_key(two_pools.cast.team, scopes=["runs:create"])
    ask = {"messages": [{"role": "user", "content": "Hi"}], "input": "Hi"}
    answer = post(two_pools, path, {"model": SIDE, **ask}, key.secret)
    assert answer.status_code == 403, answer.text
    assert "'workers:direct'" in answer.json()["error"]["message"]
    assert not Run.objects.for_team(two_pools.cast.team.id).exists()
    assert not any("worker/" in name for name in listed(two_pools, key.secret))


def test_a_limited_key_reaches_no_other_worker_by_naming_its_pool(
    two_pools: Site,
) -> None:
    key = issue_key(
        two_pools.cast.team,
        scopes=["runs:create", "workers:direct"],
        allowed_workers=["sim-birch"],
    )
    names = listed(two_pools, key.secret)
    assert [name for name in names if "worker/" in name] == ["worker/sim-birch", SIDE]
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    chat = "/chat/completions"
    refused = {**body, "model": "lab/worker/instant"}
    assert post(two_pools, chat, refused, key.secret).status_code == 403
    assert post(two_pools, chat, {**body, "model": SIDE}, key.secret).status_code == 200


def test_workers_of_other_teams_are_not_found(two_pools: Site) -> None:
    key = issue_key(two_pools.cast.other_team)
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    answer = post(two_pools, "/chat/completions", {**body, "model": SIDE}, key.secret)
    assert (answer.status_code, answer.json()["error"]["code"]) == (
        404,
        "model_not_found",
    )


def test_every_listed_name_is_found_by_itself(two_pools: Site) -> None:
    headers = {"authorization": f"Bearer {two_pools.key}"}
    names = listed(two_pools, two_pools.key)
    assert {"worker/sim-delta", "lab/worker/instant", SIDE} <= set(names)
    for name in names:
        answer = httpx.get(f"{two_pools.api_url}/models/{name}", headers=headers)
        assert answer.json().get("id") == name
