"""Answers that a stop sequence ended, with the real client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from apps.engine import events as ev
from apps.pools.models import Worker
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site

ASKED: dict[str, Any] = {
    "model": "conductor-mini",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "[[say one two END three]]"}],
}
STOPS = ["NEVER", "END"]
BASES = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


@pytest.fixture
def client(site: Site) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=site.url, api_key=site.key) as client:
        yield client


def answering(site: Site, protocol: str = "anthropic") -> None:
    """Let a scripted worker of this protocol answer the mini tier by itself."""
    site.add_worker("scripted")
    pool = site.cast.team.pools.get(is_default=True)
    base = site.simulator_url.removesuffix("/v1") + BASES[protocol]
    Worker.objects.for_team(site.cast.team.id).filter(name="scripted").update(
        protocol=protocol, base_url=base
    )
    pool.fallback = pool.workers.get(name="scripted")
    pool.conductor = None
    pool.save()
    pool.tiers.update(planner="single_worker")


def test_an_answer_says_which_stop_sequence_ended_it(
    client: anthropic.Anthropic, site: Site
) -> None:
    answering(site)
    answer = client.messages.create(**ASKED, stop_sequences=STOPS)
    assert answer.content[0].text.strip() == "one two"
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "END")


def test_a_stream_says_which_stop_sequence_ended_it(
    client: anthropic.Anthropic, site: Site
) -> None:
    answering(site)
    with client.messages.stream(**ASKED, stop_sequences=STOPS) as stream:
        text, answer = stream.get_final_text(), stream.get_final_message()
    assert text.strip() == "one two"
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "END")


def test_the_record_keeps_it_apart_like_other_texts(
    client: anthropic.Anthropic, site: Site
) -> None:
    answering(site)
    client.messages.create(**ASKED, stop_sequences=STOPS)
    [run] = Run.objects.for_team(site.cast.team.id)
    told = [r.event for r in run_events(run)]
    [step] = [e for e in told if isinstance(e, ev.StepCompleted)]
    end = told[-1]
    assert isinstance(end, ev.RunCompleted)
    assert (step.finish_reason, step.stop_sequence) == ("stop", "END")
    assert (end.finish_reason, end.stop_sequence) == ("stop", "END")


def test_an_answer_that_ended_by_itself_names_none(
    client: anthropic.Anthropic, site: Site
) -> None:
    answering(site)
    answer = client.messages.create(**ASKED, stop_sequences=["NEVER"])
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)


@pytest.mark.parametrize("protocol", ["openai", "gemini"])
def test_workers_that_do_not_say_why_they_stopped_end_the_turn(
    client: anthropic.Anthropic, site: Site, protocol: str
) -> None:
    answering(site, protocol)
    answer = client.messages.create(**ASKED, stop_sequences=STOPS)
    assert answer.content[0].text.strip() == "one two"
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
