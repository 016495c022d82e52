"""Where people choose an embedding worker for a training."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.core.errors import InvalidFields
from apps.evaluation.selectors import access_suite
from apps.pools.models import Pool, Worker, WorkerKind
from apps.pools.services import PlannerFit, planner_version_add
from apps.training.models import Training
from apps.training.services import training_start
from apps.training.trainings.settings import TrainingPlan
from tests.conftest import Cast, make_pool
from tests.evaluation.samples import suite
from tests.factories import ACTOR, WorkerFactory
from tests.training.test_trainings import tasks

pytestmark = pytest.mark.django_db
NAMED = "vectors"
EMBEDDING = {
    "worker": NAMED,
    "model": "small-1",
    "width": 64,
    "prompts": 1_200,
    "left_out": 3,
}


@pytest.fixture
def pool(cast: Cast) -> Pool:
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    found: Pool = cast.team.pools.get(is_default=True)
    found.tiers.update(max_steps=5)
    suite(cast.team, tasks())
    return found


@pytest.fixture
def embedder(pool: Pool) -> Worker:
    worker = WorkerFactory.create(team=pool.team, name=NAMED, kind=WorkerKind.EMBEDDING)
    pool.places.create(team=pool.team, worker=worker, position=9)
    return worker


def alice(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.alice)
    return client


def address(pool: Pool, query: str = "") -> str:
    return f"/learning/pools/{pool.id}/train/{query}"


def version(pool: Pool, **given: Any) -> None:
    fit = PlannerFit(600, 1_300, 7, ("sim-delta",), "a" * 64, **given)
    planner_version_add(pool=pool, stored=b"-", fit=fit, actor=ACTOR)


def started(cast: Cast, pool: Pool, **values: object) -> Training:
    by = member_principal(cast.alice, cast.team, Role.OWNER, {})
    return training_start(
        pool=pool,
        suite_version=suite(cast.team, tasks()),
        values=values,
        actor=by.actor,
        principal=by,
    )


def test_the_page_offers_embedding_workers_if_the_pool_has_one(cast, pool):
    assert 'name="embeddings"' not in alice(cast).get(address(pool)).content.decode()


def test_one_is_chosen_on_the_page(cast, pool, embedder):
    page = alice(cast).get(address(pool)).content.decode()
    assert 'name="embeddings"' in page
    assert "Embeddings, margin, cost and speed" in page
    usual = {n: v for n, v in TrainingPlan().values().items() if v is not None}
    chosen = access_suite(team_id=cast.team.id, name="basics")
    given = {**usual, "suite": str(chosen.id), "embeddings": NAMED, "max_cost_usd": ""}
    answer = alice(cast).post(address(pool), given, follow=True)
    assert answer.redirect_chain, answer.content.decode()
    row = Training.objects.for_team(cast.team.id).get()
    assert row.settings["embeddings"] == NAMED


def test_what_nobody_offers_is_refused_on_the_page(cast, pool, embedder):
    usual = {n: v for n, v in TrainingPlan().values().items() if v is not None}
    chosen = access_suite(team_id=cast.team.id, name="basics")
    given = {**usual, "suite": str(chosen.id), "embeddings": "sim-delta"}
    page = alice(cast).post(address(pool), given).content.decode()
    assert "sim-delta is not one of the available choices" in page
    assert not Training.objects.for_team(cast.team.id).exists()


def test_a_version_says_what_it_was_fitted_with(cast, pool, embedder):
    version(pool, embedding=EMBEDDING)
    page = alice(cast).get(f"/learning/pools/{pool.id}/versions/1/").content.decode()
    assert "vectors (<bdi>small-1</bdi>), 64 numbers each" in page
    assert "3 left out" in page


def test_a_newcomer_is_taken_in_with_the_embeddings_of_the_version(
    cast, pool, embedder
):
    version(pool, embedding=EMBEDDING)
    assert started(cast, pool, newcomer="sim-birch").settings["embeddings"] == NAMED


def test_if_they_have_left_the_pool_it_is_taken_in_without(cast, pool):
    version(pool, embedding=EMBEDDING)
    assert started(cast, pool, newcomer="sim-birch").settings["embeddings"] == ""


def test_profiles_alone_have_no_prompts_to_embed(cast, pool, embedder):
    with pytest.raises(InvalidFields, match="no prompts are embedded"):
        started(cast, pool, from_profiles=True, embeddings=NAMED)
