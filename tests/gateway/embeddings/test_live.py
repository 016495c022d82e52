"""Embeddings with the openai package against the whole product."""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from apps.accounts.models import Scope
from apps.audit.models import Content, Entry
from apps.budgets.models import Budget, BudgetKind, Period
from apps.pools.models import Worker, WorkerKind
from apps.runs.models import Run, RunState
from tests.conftest import Site
from tests.factories import PriceFactory, WorkerFactory, issue_key

MODEL = "worker/vectors"


@pytest.fixture
def embedder(site: Site) -> Worker:
    """An embedding worker of the default pool, with a price."""
    return make_embedder(site)


def make_embedder(site: Site, *, protocol: str = "openai") -> Worker:
    pool = site.cast.team.pools.get(is_default=True)
    url = site.simulator_url
    worker = WorkerFactory.create(
        team=site.cast.team,
        name="vectors",
        base_url=url.replace("/v1", "/v1beta") if protocol == "gemini" else url,
        protocol=protocol,
        model="sim-embedding",
        kind=WorkerKind.EMBEDDING,
    )
    PriceFactory.create(worker=worker)
    pool.places.create(team=site.cast.team, worker=worker, position=9)
    return worker


@pytest.fixture
def client(site: Site) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=site.api_url, api_key=site.key, max_retries=0
    ) as client:
        yield client


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("protocol", ["openai", "gemini"])
def test_texts_that_share_words_have_similar_vectors(
    client: openai.OpenAI, site: Site, protocol: str
) -> None:
    make_embedder(site, protocol=protocol)
    texts = ["the red cat sleeps", "the red cat eats", "invoices of last May"]
    answer = client.embeddings.create(model=MODEL, input=texts)
    cat, other_cat, invoice = [row.embedding for row in answer.data]
    assert [row.index for row in answer.data] == [0, 1, 2]
    assert cosine(cat, other_cat) > cosine(cat, invoice) + 0.2
    assert math.isclose(cosine(cat, cat), 1, rel_tol=1e-4)


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_both_encodings_hold_the_same_numbers(
    client: openai.OpenAI, site: Site, embedder: Worker, encoding: str
) -> None:
    told = httpx.post(
        f"{site.api_url}/embeddings",
        headers={"Authorization": f"Bearer {site.key}"},
        json={"model": MODEL, "input": "one text", "encoding_format": encoding},
    ).json()["data"][0]["embedding"]
    if encoding == "base64":
        told = array("f", base64.b64decode(told)).tolist()
    plain = client.embeddings.create(model=MODEL, input="one text")
    assert told == pytest.approx(plain.data[0].embedding)


def test_dimensions_are_passed_on(client: openai.OpenAI, embedder: Worker) -> None:
    answer = client.embeddings.create(model=MODEL, input="one text", dimensions=16)
    assert len(answer.data[0].embedding) == 16


def test_embeddings_are_recorded_and_billed_like_a_run(
    client: openai.OpenAI, site: Site, embedder: Worker
) -> None:
    answer = client.embeddings.create(model=MODEL, input=["purple canary", "b"])
    run = Run.objects.for_team(site.cast.team.id).get()
    told: Any = answer.to_dict()["conductor"]
    assert told["run_id"] == str(run.id)
    assert (run.state, run.prompt_tokens) == (RunState.COMPLETED, 3)
    assert answer.usage.total_tokens == 3
    assert run.cost_micros > 0 and not run.has_unknown_cost
    entries = Entry.objects.for_team(site.cast.team.id).filter(subject_id=run.id)
    assert "run.completed" in entries.values_list("action", flat=True)
    texts = Content.objects.for_team(site.cast.team.id).exclude(sealed=None)
    assert not any(b"purple canary" in bytes(text.sealed or b"") for text in texts)


def test_budget_holds_for_embeddings_too(
    client: openai.OpenAI, site: Site, embedder: Worker
) -> None:
    Budget.objects.create(
        team=site.cast.team,
        kind=BudgetKind.TEAM,
        period=Period.DAY,
        limit_micros=1,
    )
    embedder.prices.update(input_micros=10**12)
    with pytest.raises(openai.APIStatusError) as caught:
        client.embeddings.create(model=MODEL, input="a text " * 500)
    assert caught.value.code == "insufficient_quota"


def test_embedding_workers_are_in_no_plan_and_answer_no_chat(
    client: openai.OpenAI, embedder: Worker
) -> None:
    asked: Any = [{"role": "user", "content": "What is 6 * 7?"}]
    answer = client.chat.completions.create(
        model="conductor-ultra",
        messages=asked,
    )
    told: Any = answer.to_dict()["conductor"]
    assert "vectors" not in {step["worker"] for step in told["steps"]}
    with pytest.raises(openai.BadRequestError, match="/v1/embeddings"):
        client.chat.completions.create(model=MODEL, messages=asked)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": "worker/sim-delta"}, "model"),
        ({"model": "conductor-mini"}, "model"),
        ({"input": []}, "input"),
        ({"input": [[1, 2]]}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": ["a", " "]}, "input[1]"),
        ({"input": ["a"] * 2049}, "input"),
        ({"dimensions": 0}, "dimensions"),
        ({"encoding_format": "int8"}, "encoding_format"),
    ],
)
def test_bad_request_is_refused_by_name(
    site: Site, embedder: Worker, fields: dict[str, Any], param: str
) -> None:
    answer = httpx.post(
        f"{site.api_url}/embeddings",
        headers={"Authorization": f"Bearer {site.key}"},
        json={"model": MODEL, "input": "a", **fields},
    )
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_provider_that_refuses_ends_in_a_named_fault(
    client: openai.OpenAI, embedder: Worker
) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        client.embeddings.create(model=MODEL, input="a", dimensions=9_999)
    assert caught.value.code == "worker_failed"


def test_embeddings_need_the_scope_for_direct_calls(
    client: openai.OpenAI, site: Site, embedder: Worker
) -> None:
    key = issue_key(site.cast.team, name="k", scopes=[Scope.RUN])
    with pytest.raises(openai.PermissionDeniedError):
        client.with_options(api_key=key.secret).embeddings.create(
            model=MODEL, input="a"
        )


def test_idempotency_key_is_refused_because_vectors_are_not_kept(
    client: openai.OpenAI, embedder: Worker
) -> None:
    with pytest.raises(openai.BadRequestError, match="not kept"):
        client.embeddings.create(
            model=MODEL, input="a", extra_headers={"Idempotency-Key": "k-1"}
        )


def test_models_tell_which_worker_makes_embeddings(
    client: openai.OpenAI, embedder: Worker
) -> None:
    models = {model.id: model.to_dict() for model in client.models.list()}
    made: Any = models[MODEL]["architecture"]
    tier: Any = models["conductor-ultra"]["architecture"]
    assert made["output_modalities"] == ["embeddings"]
    assert tier["output_modalities"] == ["text"]
    assert models[MODEL]["supported_parameters"] == ["dimensions", "encoding_format"]
