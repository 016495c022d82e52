"""A light planner tells kinds of prompts apart by an embedding worker of its pool."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.test import Client

from apps.accounts.models import Scope
from apps.audit.models import Content, Entry
from apps.audit.selectors import entry_list
from apps.governance.services import policy_replace
from apps.pools.models import Pool, Worker, WorkerKind
from apps.pools.selectors import access_worker, light_planner, planner_versions
from apps.pools.services import credential_create, worker_update
from apps.runs.models import Run
from apps.training.models import Training
from apps.training.selectors import learning_runs, training_cost
from apps.training.services import planner_use
from apps.training.trainings import embedding as trainings_embedding
from tests.conftest import Site
from tests.evaluation.samples import entries_of, suite
from tests.factories import ACTOR, WorkerFactory, issue_key
from tests.gateway.embeddings.test_live import make_embedder
from tests.training.test_trainings import SMALL, ended, pool_of, tasks
from tests.worlds import world

pytestmark = pytest.mark.slow

PROMPT = "What is 17 * 7 + 4?"
AWAY = "http://127.0.0.1:9/v1"
"""Nobody listens there."""


@pytest.fixture
def embedder(site: Site) -> Worker:
    return make_embedder(site)


def change(worker: Worker, **values: object) -> None:
    row = access_worker(worker.team_id, worker.id)
    worker_update(worker=row, values=values, actor=ACTOR)


def headers(site: Site) -> dict[str, str]:
    key = issue_key(site.cast.team, scopes=list(Scope), created_by=site.cast.alice)
    return {"Authorization": f"Bearer {key.secret}"}


def ordered(site: Site, **settings: object) -> httpx.Response:
    """Order a training over REST."""
    pool_of(site)
    suite(site.cast.team, tasks())
    body = {"suite": "basics", "settings": {**SMALL, **settings}}
    address = f"{site.url}/api/v1/learning/trainings/"
    return httpx.post(address, json=body, headers=headers(site), timeout=30)


def trained(site: Site, **settings: object) -> Training:
    answer = ordered(site, embeddings="vectors", **settings)
    assert answer.status_code == 202, answer.text
    rows = Training.objects.for_team(site.cast.team.id)
    return ended(rows.get(id=answer.json()["id"]))


def logged(site: Site) -> set[str]:
    """Return the prompts that were learned from."""
    pool = pool_of(site)
    return {run.prompt for run in learning_runs(pool.team_id, pool.name)}


def used(site: Site) -> Pool:
    pool = pool_of(site)
    number = planner_versions(pool)[0].number
    return planner_use(
        pool=pool, number=number, tiers=["ultra"], actor=ACTOR, reason="Try."
    )


def asked(site: Site, **conductor: object) -> dict[str, Any]:
    """Ask tier ultra, and return the run with the answer's own figures."""
    body: dict[str, Any] = {
        "model": "conductor-ultra",
        "messages": [{"role": "user", "content": PROMPT}],
        "conductor": conductor,
    }
    by, address = headers(site), f"{site.url}/v1/chat/completions"
    answer = httpx.post(address, json=body, headers=by, timeout=60)
    assert answer.status_code == 200, answer.text
    run_id = answer.headers["x-conductor-run-id"]
    found = httpx.get(f"{site.url}/api/v1/runs/{run_id}/", headers=by).json()
    return {**found, "usage": answer.json()["usage"]}


def features(run: dict[str, Any]) -> dict[str, Any]:
    (why,) = run["explanations"]
    found: dict[str, Any] = why["features"]
    return found


def entries(site: Site, run: dict[str, Any], action: str) -> list[dict[str, Any]]:
    rows = entry_list(site.cast.team.id, subject_id=UUID(run["id"]), limit=5_000)
    return [dict(entry.data) for entry in rows if entry.action == action]


def plan_with_vectors(site: Site) -> None:
    """Fill a world: tier ultra plans with a version that has an embedding worker."""
    make_embedder(site)
    trained(site, near_best_runs=0)
    used(site)


# --- the fit --------------------------------------------------------------------------


def test_a_training_embeds_each_prompt_once_and_pays_for_it(site, embedder):
    found = trained(site)
    assert found.error == ""
    fit = planner_versions(found.pool)[0].fit
    assert fit["embedding"] == {
        "worker": "vectors",
        "model": "sim-embedding",
        "width": 64,
        "prompts": len(logged(site)),
        "left_out": 0,
    }
    words = sum(len(re.findall(r"\w+", prompt)) for prompt in logged(site))
    price = embedder.prices.get().input_micros
    assert found.embedding_cost_micros == -(-words * price // 1_000_000)
    runs = Run.objects.for_team(site.cast.team.id)
    cost = sum(runs.values_list("cost_micros", flat=True))
    assert training_cost(found) == cost + found.embedding_cost_micros
    made = entries_of(site.cast.team, "pool.planner_fitted")
    assert [entry["embedding"] for entry in made] == [fit["embedding"]] * 2
    (end,) = entries_of(site.cast.team, "training.ended")
    assert end["embedding_cost_micros"] == found.embedding_cost_micros
    assert not trainings_embedding._kept


@world(plan_with_vectors)
def test_a_version_holds_centres_and_no_vector_of_a_prompt(site):
    found = Training.objects.for_team(site.cast.team.id).get()
    version = planner_versions(found.pool)[0]
    model = light_planner(found.team_id, found.pool_id, version.number).model
    centres = model.kinds.embedded
    assert centres is not None
    assert len(centres.centres) < len(logged(site))
    assert len(centres.centres) == len(model.kinds.centres)


@pytest.mark.parametrize("name", ["sim-delta", "elsewhere"])
def test_only_an_embedding_worker_of_the_pool_will_do(site, embedder, name):
    answer = ordered(site, embeddings=name)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["param"] == "embeddings"
    assert f"has no embedding worker {name!r}" in error["message"]


def test_that_of_another_team_is_unknown(site, embedder):
    WorkerFactory.create(
        team=site.cast.other_team, name="theirs", kind=WorkerKind.EMBEDDING
    )
    assert ordered(site, embeddings="theirs").status_code == 400


def test_with_a_cost_limit_it_needs_a_price(site, embedder):
    embedder.prices.all().delete()
    answer = ordered(site, embeddings="vectors", max_cost_micros=10**9)
    assert answer.status_code == 400
    assert "'vectors' has none" in answer.json()["error"]["message"]


def test_a_worker_that_is_away_ends_the_training_with_a_reason(site, embedder):
    change(embedder, base_url=AWAY)
    found = trained(site, explore_runs=24)
    assert found.outcome == "failed"
    assert found.error.startswith("the prompts could not be embedded: 'vectors' failed")
    assert not planner_versions(found.pool)


def test_its_cost_counts_towards_the_limit_of_the_training(site, embedder):
    price = embedder.prices.get()
    price.input_micros = 10**11
    price.save()
    limit = 4_000_000
    found = trained(site, explore_runs=24, max_cost_micros=limit)
    assert found.outcome == "budget"
    assert training_cost(found) <= limit


def test_prompts_that_a_policy_keeps_from_it_are_left_out(site, embedder):
    """Nothing may be sent to it, so there is nothing to find kinds by."""
    keep_from(site, embedder)
    found = trained(site, explore_runs=24)
    assert found.outcome == "failed"
    assert "may see no prompt" in found.error


def keep_from(site: Site, worker: Worker) -> None:
    """Let a policy forbid the embedding worker, and no other."""
    change(worker, tags=["region:us"])
    for other in site.cast.team.workers.exclude(id=worker.id):
        change(other, tags=["region:eu"])
    effect = {"kind": "only_workers", "tags": ["region:eu"]}
    rules = [{"name": "EU only", "effect": effect}]
    policy_replace(team=site.cast.team, values={"rules": rules}, actor=ACTOR)


# --- plans ----------------------------------------------------------------------------


@pytest.fixture
def planning(site: Site) -> Worker:
    """The embedding worker of that version."""
    return site.cast.team.workers.get(kind=WorkerKind.EMBEDDING)


@world(plan_with_vectors)
def test_its_tier_plans_by_the_vector_of_the_prompt(site, planning):
    run = asked(site)
    assert run["planner"] == "light"
    assert features(run) == {"by": "embedding", "worker": "vectors", "missing": ""}
    (requested,) = entries(site, run, "plan.requested")
    assert requested["embedder"] == "vectors"
    (replied,) = entries(site, run, "plan.replied")
    assert replied["usage"]["prompt_tokens"] > 0
    assert replied["cost_micros"] > 0
    details = run["usage"]["prompt_tokens_details"]
    assert details["orchestration_input_tokens"] == replied["usage"]["prompt_tokens"]
    page = Client()
    page.force_login(site.cast.alice)
    shown = page.get(f"/runs/{run['id']}/").content.decode()
    assert "The kind was found by the prompt's vector of" in shown
    assert "Vector vectors" in shown


@world(plan_with_vectors)
def test_without_its_vector_n_grams_decide_and_the_run_says_so(site, planning):
    failed = "'vectors' failed (connect)"
    missing = "no worker that this run may use makes such vectors"
    for name, value, why in [
        ("base_url", AWAY, failed),
        ("model", "sim-other", missing),
        ("is_enabled", False, missing),
    ]:
        before = getattr(planning, name)
        change(planning, **{name: value})
        run = asked(site)
        change(planning, **{name: before})
        assert run["planner"] == "light"
        found = features(run)
        assert (found["by"], found["worker"]) == ("ngrams", "vectors"), name
        assert found["missing"] == why
        page = Client()
        page.force_login(site.cast.alice)
        shown = page.get(f"/runs/{run['id']}/").content.decode()
        assert "The kind was found by parts of words" in shown


@world(plan_with_vectors)
def test_a_policy_keeps_the_prompt_from_it(site, planning):
    keep_from(site, planning)
    run = asked(site)
    found = features(run)
    assert found["by"] == "ngrams"
    assert found["missing"].startswith("'vectors' may not be used: ")
    assert entries(site, run, "plan.requested") == []


@world(plan_with_vectors)
def test_a_request_that_names_other_workers_keeps_the_prompt_from_it(site, planning):
    run = asked(site, workers=["sim-delta", "sim-birch"])
    assert features(run)["by"] == "ngrams"
    assert entries(site, run, "plan.requested") == []


@world(plan_with_vectors)
def test_its_credential_reaches_no_entry(site, planning):
    secret = "sk-embeddings-0123456789"
    given = {"name": "vectors", "base_url": AWAY, "secret": secret}
    made = credential_create(team=site.cast.team, values=given, actor=ACTOR)
    change(planning, base_url=AWAY, credential_id=str(made.id))
    run = asked(site)
    assert features(run)["missing"] == "'vectors' failed (connect)"
    rows = Entry.objects.for_team(site.cast.team.id)
    assert all(secret.encode() not in bytes(row.canonical) for row in rows)
    assert secret not in str(run)
    assert Content.objects.for_team(site.cast.team.id).exists()
