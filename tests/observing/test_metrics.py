"""Metrics after real runs: what has been counted is what is on record."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from apps.runs.models import Run
from tests.conftest import Site
from tests.observing.metrics import Growth, scraped, value

QUESTION: Any = [{"role": "user", "content": "What is 17 * 23 + 4?"}]


@pytest.fixture
def growth(site: Site) -> Growth:
    return Growth(site.url)


def ask(site: Site, model: str, **options: Any) -> str:
    """Return the answer's text; a stream is read to its end."""
    with openai.OpenAI(
        base_url=site.api_url, api_key=site.key, max_retries=0
    ) as client:
        answer = client.chat.completions.create(
            model=model, messages=QUESTION, **options
        )
        if not options.get("stream"):
            return answer.choices[0].message.content or ""
        return "".join(c.choices[0].delta.content or "" for c in answer)


def the_run(site: Site) -> Run:
    return Run.objects.for_team(site.cast.team.id).get()


def test_a_run_is_counted_once_by_its_tier(site, growth):
    ask(site, "conductor-ultra")
    assert growth.of("runs_started_total", tier="ultra") == 1
    assert growth.of("runs_ended_total", tier="ultra", outcome="completed") == 1
    assert growth.of("run_seconds_count", tier="ultra") == 1
    assert growth.of("runs_ended_total", tier="direct", outcome="completed") == 0


def test_plans_and_steps_are_counted(site, growth):
    ask(site, "conductor-ultra")
    steps = the_run(site).steps_done
    assert growth.of("plans_total", outcome="accepted") >= 1
    assert growth.of("steps_total", outcome="completed") == steps > 1


def test_tokens_and_cost_are_those_of_the_run(site, growth):
    ask(site, "conductor-ultra")
    run = the_run(site)
    roles = ("worker", "conductor")
    prompt = sum(growth.of("tokens_total", role=r, kind="prompt") for r in roles)
    written = sum(growth.of("tokens_total", role=r, kind="completion") for r in roles)
    cost = sum(growth.of("cost_micros_total", role=r) for r in roles)
    assert (prompt, written) == (run.prompt_tokens, run.completion_tokens)
    assert cost == run.cost_micros > 0
    own = growth.of("tokens_total", role="conductor", kind="prompt")
    assert own == run.orchestration_prompt_tokens


def test_a_failed_run_is_counted_by_its_code_and_its_calls_by_fault(site, growth):
    site.add_worker("fault-401")
    with pytest.raises(openai.APIError):
        ask(site, "worker/fault-401")
    assert growth.of("runs_ended_total", tier="direct", outcome="failed") == 1
    assert growth.of("runs_failed_total", code="worker_failed") == 1
    labels = {"role": "worker", "protocol": "openai"}
    assert growth.of("model_calls_total", **labels, outcome="unauthorized") == 1
    assert growth.of("model_calls_total", **labels, outcome="completed") == 0
    assert growth.of("steps_total", outcome="failed") == 1


def test_latency_of_providers_is_measured_to_the_first_token_and_the_last(site, growth):
    ask(site, "worker/sim-delta", stream=True)
    ask(site, "worker/sim-delta")
    labels = {"role": "worker", "protocol": "openai"}
    assert growth.of("model_first_token_seconds_count", **labels) == 1
    assert growth.of("model_call_seconds_count", **labels) == 2
    assert growth.of("model_calls_total", **labels, outcome="completed") == 2


def test_the_ledger_tells_its_lag_and_the_size_of_its_commits(site, growth):
    ask(site, "worker/sim-delta")
    assert growth.of("ledger_lag_seconds_count") == 2
    assert 1 <= growth.of("ledger_commit_batches_count") <= 2
    assert growth.of("ledger_commit_batches_sum") == 2


def test_requests_are_counted_by_class(site, growth):
    ask(site, "worker/sim-delta")
    httpx.get(f"{site.url}/v1/nowhere")
    httpx.get(f"{site.url}/api/v1/me/")
    httpx.get(f"{site.url}/runs/")
    assert growth.of("http_requests_total", route="chat", status="2xx") == 1
    assert growth.of("http_requests_total", route="unknown", status="4xx") == 1
    assert growth.of("http_requests_total", route="rest", status="4xx") == 1
    assert growth.of("http_requests_total", route="pages", status="3xx") == 1
    assert growth.of("http_request_seconds_count", route="chat") == 1


def test_the_site_says_how_it_stands(site):
    told = scraped(site.url)
    assert value(told, "database_up") == 1
    assert value(told, "processes", kind="web") == 1
    assert value(told, "runs_waiting") == 0
    assert value(told, "live_runs") == 0
    assert value(told, "checkpoint_lag_seconds") >= 0


def test_the_loop_is_sampled(site):
    before = scraped(site.url)
    for _ in range(200):
        ask(site, "worker/sim-delta")
        now = scraped(site.url)
        if value(now, "event_loop_lag_seconds_count") > value(
            before, "event_loop_lag_seconds_count"
        ):
            return
    pytest.fail("no sample in 200 requests")


def test_no_label_names_a_team_a_worker_or_an_address(site):
    site.add_worker("fault-500")
    ask(site, "conductor-ultra")
    with pytest.raises(openai.APIError):
        ask(site, "worker/fault-500")
    text = httpx.get(f"{site.url}/metrics").text
    pool = site.cast.team.pools.get(is_default=True)
    names = [place.worker.name for place in pool.places.all()]
    for canary in (*names, site.cast.team.name, str(site.cast.team.id), "127.0.0.1"):
        assert canary not in text
    assert "17 * 23" not in text
