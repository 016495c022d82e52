"""Refused content over the API, with the real client and every way to refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from apps.audit.types import SERVICE
from apps.engine import events as ev
from apps.pools.models import Pool, Worker
from apps.pools.services import pool_update
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site

QUESTION: Any = [{"role": "user", "content": "What is 17 * 23 + 4?"}]
MODELS = ("fault-filtered", "filtered", "refuser")
BASES = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
EVERY = pytest.mark.parametrize("protocol", BASES)
EACH = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def client(site: Site) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=site.api_url, api_key=site.key) as client:
        yield client


def refusing_pool(site: Site, model: str, protocol: str) -> Pool:
    """Let `model` answer the mini tier, with another worker to take over."""
    site.add_worker(model)
    pool = site.cast.team.pools.get(is_default=True)
    root = site.simulator_url.removesuffix("/v1")
    Worker.objects.for_team(site.cast.team.id).filter(name=model).update(
        protocol=protocol, base_url=root + BASES[protocol]
    )
    pool.fallback = pool.workers.get(name=model)
    pool.conductor = None
    pool.save()
    pool.tiers.update(planner="single_worker")
    return pool


def events(site: Site) -> list[ev.Event]:
    run = Run.objects.for_team(site.cast.team.id).get()
    return [recorded.event for recorded in run_events(run)]


def called(site: Site) -> list[str]:
    return [e.worker for e in events(site) if isinstance(e, ev.StepStarted)]


@EVERY
@EACH
def test_D8_the_refusal_is_the_answer_and_no_other_worker_is_asked(
    client: openai.OpenAI, site: Site, model: str, protocol: str
) -> None:
    refusing_pool(site, model, protocol)
    answer = client.chat.completions.create(model="conductor-mini", messages=QUESTION)
    assert answer.choices[0].finish_reason == "content_filter"
    assert called(site) == [model]


@EVERY
@EACH
def test_D8_a_refusal_in_a_stream_ends_it_properly(
    client: openai.OpenAI, site: Site, model: str, protocol: str
) -> None:
    refusing_pool(site, model, protocol)
    stream = client.chat.completions.create(
        model="conductor-mini", messages=QUESTION, stream=True
    )
    choices = [chunk.choices[0] for chunk in stream if chunk.choices]
    reasons = [c.finish_reason for c in choices if c.finish_reason]
    assert reasons == ["content_filter"]
    assert called(site) == [model]


@EVERY
@EACH
def test_D8_another_worker_answers_where_the_pool_says_so(
    client: openai.OpenAI, site: Site, model: str, protocol: str
) -> None:
    pool = refusing_pool(site, model, protocol)
    pool_update(pool=pool, values={"retries_refusals": True}, actor=SERVICE)
    answer = client.chat.completions.create(model="conductor-mini", messages=QUESTION)
    assert answer.choices[0].finish_reason == "stop"
    assert called(site)[0] == model
    failed = [e.fault for e in events(site) if isinstance(e, ev.StepAttemptFailed)]
    assert failed == ["content_filtered"]


def test_D8_refused_by_all_is_an_error_that_clients_do_not_retry(
    client: openai.OpenAI, site: Site
) -> None:
    pool = refusing_pool(site, "fault-filtered", "openai")
    pool_update(pool=pool, values={"retries_refusals": True}, actor=SERVICE)
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(
            model="conductor-mini",
            messages=QUESTION,
            extra_body={"conductor": {"workers": ["fault-filtered"]}},
        )
    assert refused.value.code == "content_filtered"
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert called(site) == ["fault-filtered"]
