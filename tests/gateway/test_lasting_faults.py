"""What a client that retries by itself costs upstream: the real openai package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from apps.engine import events as ev
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site

LASTING = (
    "fault-400",
    "fault-401",
    "fault-403",
    "fault-404",
    "fault-quota",
    "fault-context-length",
)
QUESTION = "What is 17 * 23 + 4?"


@pytest.fixture
def client(site: Site) -> Iterator[openai.OpenAI]:
    """The client as people make it: with its usual two retries."""
    with openai.OpenAI(base_url=site.api_url, api_key=site.key) as client:
        yield client


def upstream_calls(site: Site) -> list[str]:
    """Return the workers that were called, over all runs of the team."""
    return [
        event.worker
        for run in Run.objects.for_team(site.cast.team.id)
        for event in (recorded.event for recorded in run_events(run))
        if isinstance(event, ev.StepStarted)
    ]


def chat(client: openai.OpenAI, model: str, **more: Any) -> Any:
    messages: Any = [{"role": "user", "content": QUESTION}]
    return client.chat.completions.create(model=model, messages=messages, **more)


def respond(client: openai.OpenAI, model: str) -> Any:
    return client.responses.create(model=model, input=QUESTION)


@pytest.mark.parametrize("ask", [chat, respond])
@pytest.mark.parametrize("fault", LASTING)
def test_D5_one_lasting_fault_upstream_is_one_call_upstream(
    client: openai.OpenAI, site: Site, fault: str, ask: Any
) -> None:
    site.add_worker(fault)
    with pytest.raises(openai.APIStatusError) as failed:
        ask(client, f"worker/{fault}")
    assert failed.value.response.headers["x-should-retry"] == "false"
    assert upstream_calls(site) == [fault]


def test_D5_an_answer_that_stays_in_the_wrong_form_is_repaired_once_and_not_asked_again(
    client: openai.OpenAI, site: Site
) -> None:
    site.add_worker("json-never")
    with pytest.raises(openai.InternalServerError) as failed:
        chat(client, "worker/json-never", response_format={"type": "json_object"})
    assert failed.value.code == "invalid_structured_output"
    assert upstream_calls(site) == ["json-never"] * 2


def test_a_fault_that_may_pass_is_left_to_the_client_to_retry(
    client: openai.OpenAI, site: Site
) -> None:
    site.add_worker("fault-500")
    with pytest.raises(openai.InternalServerError) as failed:
        chat(client.with_options(max_retries=0), "worker/fault-500")
    assert "x-should-retry" not in failed.value.response.headers


def test_a_fault_that_may_pass_at_one_of_two_workers_may_be_retried(
    client: openai.OpenAI, site: Site
) -> None:
    for name in ("fault-500", "fault-401"):
        site.add_worker(name)
    pool = site.cast.team.pools.get(is_default=True)
    pool.fallback = pool.workers.get(name="fault-500")
    pool.save()
    workers = ["fault-500", "fault-401"]
    with pytest.raises(openai.InternalServerError) as failed:
        chat(
            client.with_options(max_retries=0),
            "conductor-mini",
            extra_body={"conductor": {"workers": workers}},
        )
    assert set(upstream_calls(site)) == set(workers)
    assert "x-should-retry" not in failed.value.response.headers
