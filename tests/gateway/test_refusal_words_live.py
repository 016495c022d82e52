"""Why content was refused, in the words of its provider: every protocol, in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import anthropic
import openai
import pytest
from django.test import Client
from django.utils.html import escape

from apps.pools.models import Worker
from apps.runs.models import Run
from apps.runs.selectors import run_events
from tests.conftest import Site

QUESTION = "What is 17 * 23 + 4?"
MESSAGES: Any = [{"role": "user", "content": QUESTION}]
BASES = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
PART = "I was about to say"
BY_FILTER = "Output blocked by content filtering policy"
BY_MODEL = "I'm sorry, I cannot help with that."


class Refused(NamedTuple):
    """What a client learns of a refusal."""

    text: str
    refusal: str | None
    reason: str | None


WAYS = {
    "fault-filtered": ("", BY_FILTER),
    "refuser": ("", BY_MODEL),
    "filtered": (PART, "violence"),
}
"""By simulated model: the text before the refusal, and a part of the reason."""
EACH = pytest.mark.parametrize("model", WAYS)
EVERY = pytest.mark.parametrize("protocol", BASES)
BOTH = pytest.mark.parametrize("is_streamed", [False, True])


@pytest.fixture
def openai_client(site: Site) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=site.api_url, api_key=site.key) as client:
        yield client


@pytest.fixture
def anthropic_client(site: Site) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=site.url, api_key=site.key) as client:
        yield client


def add_worker(site: Site, model: str, protocol: str) -> str:
    """Serve a simulated model in a protocol; return the name of a direct call."""
    site.add_worker(model)
    root = site.simulator_url.removesuffix("/v1")
    Worker.objects.for_team(site.cast.team.id).filter(name=model).update(
        protocol=protocol, base_url=root + BASES[protocol]
    )
    return f"worker/{model}"


def completed(client: openai.OpenAI, model: str, *, is_streamed: bool) -> Refused:
    asked: Any = {"model": model, "messages": MESSAGES}
    if not is_streamed:
        choice = client.chat.completions.create(**asked).choices[0]
        message = choice.message
        return Refused(message.content or "", message.refusal, choice.finish_reason)
    chunks = client.chat.completions.create(**asked, stream=True)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    reasons = [choice.finish_reason for choice in choices]
    refusals = [choice.delta.refusal for choice in choices if choice.delta.refusal]
    assert reasons[:-1] == [None] * len(reasons[:-1])
    return Refused(
        "".join(choice.delta.content or "" for choice in choices),
        "".join(refusals) or None,
        reasons[-1],
    )


def responded(client: openai.OpenAI, model: str, *, is_streamed: bool) -> Refused:
    if not is_streamed:
        response = client.responses.create(model=model, input=QUESTION)
    else:
        with client.responses.stream(model=model, input=QUESTION) as stream:
            events = list(stream)
        last = events[-1]
        assert last.type == "response.incomplete"
        response = last.response
        deltas = [e.delta for e in events if e.type == "response.refusal.delta"]
        done = [e.refusal for e in events if e.type == "response.refusal.done"]
        assert done == ["".join(deltas)]
    parts = [
        part
        for item in response.output
        if item.type == "message"
        for part in item.content
    ]
    text = "".join(part.text for part in parts if part.type == "output_text")
    refusals = [part.refusal for part in parts if part.type == "refusal"]
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    if is_streamed:
        assert refusals == done
    kept = client.responses.retrieve(response.id)
    assert [i.to_dict() for i in kept.output] == [i.to_dict() for i in response.output]
    return Refused(text, "".join(refusals), response.incomplete_details.reason)


def said(client: anthropic.Anthropic, model: str, *, is_streamed: bool) -> Refused:
    asked: Any = {"model": model, "messages": MESSAGES, "max_tokens": 1_000}
    if is_streamed:
        with client.messages.stream(**asked) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**asked)
    text = "".join(block.text for block in message.content if block.type == "text")
    details = message.stop_details
    assert details is not None
    assert details.type == "refusal"
    return Refused(text, details.explanation, message.stop_reason)


@BOTH
@EVERY
@EACH
def test_C8_chat_completions_have_the_reason_in_refusal(
    openai_client: openai.OpenAI,
    site: Site,
    model: str,
    protocol: str,
    is_streamed: bool,
) -> None:
    name = add_worker(site, model, protocol)
    refused = completed(openai_client, name, is_streamed=is_streamed)
    text, words = WAYS[model]
    assert (refused.text, refused.reason) == (text, "content_filter")
    assert words in (refused.refusal or "")


@BOTH
@EVERY
@EACH
def test_C8_responses_have_the_reason_in_a_part_of_their_message(
    openai_client: openai.OpenAI,
    site: Site,
    model: str,
    protocol: str,
    is_streamed: bool,
) -> None:
    name = add_worker(site, model, protocol)
    refused = responded(openai_client, name, is_streamed=is_streamed)
    text, words = WAYS[model]
    assert (refused.text, refused.reason) == (text, "content_filter")
    assert words in (refused.refusal or "")


@BOTH
@EVERY
@EACH
def test_C8_messages_have_the_reason_as_text_and_as_explanation(
    anthropic_client: anthropic.Anthropic,
    site: Site,
    model: str,
    protocol: str,
    is_streamed: bool,
) -> None:
    name = add_worker(site, model, protocol)
    refused = said(anthropic_client, name, is_streamed=is_streamed)
    text, words = WAYS[model]
    assert refused.reason == "refusal"
    assert words in (refused.refusal or "")
    assert refused.text == (text or refused.refusal)


@BOTH
def test_C8_an_answer_that_is_none_of_it_has_no_refusal(
    openai_client: openai.OpenAI,
    anthropic_client: anthropic.Anthropic,
    site: Site,
    is_streamed: bool,
) -> None:
    refused = completed(openai_client, "conductor-mini", is_streamed=is_streamed)
    assert (refused.refusal, refused.reason) == (None, "stop")
    message = anthropic_client.messages.create(
        model="conductor-mini", messages=MESSAGES, max_tokens=1_000
    )
    assert message.stop_details is None


def test_C8_the_page_of_the_run_says_why(
    openai_client: openai.OpenAI, site: Site
) -> None:
    browser = Client()
    browser.force_login(site.cast.bob)
    names = {model: add_worker(site, model, "openai") for model in WAYS}
    for model, (text, words) in WAYS.items():
        name = names[model]
        openai_client.chat.completions.create(model=name, messages=MESSAGES)
        run = Run.objects.for_team(site.cast.team.id).get(model=name)
        page = browser.get(f"/runs/{run.id}/").content.decode()
        answer = page[page.index('id="run-answer"') :]
        assert escape(text) in answer
        assert escape(words) in answer
        assert "The model refused, or its provider withheld the answer." in answer


def test_C8_a_conversation_goes_on_after_a_refusal(
    openai_client: openai.OpenAI, site: Site
) -> None:
    name = add_worker(site, "refuser", "openai")
    whole = openai_client.chat.completions.create(model=name, messages=MESSAGES)
    openai_client.chat.completions.create(
        model="conductor-mini",
        messages=[
            *MESSAGES,
            cast(Any, whole.choices[0].message),
            {"role": "user", "content": "Why not?"},
        ],
    )
    response = openai_client.responses.create(model=name, input=QUESTION)
    openai_client.responses.create(
        model="conductor-mini", input="Why not?", previous_response_id=response.id
    )
    runs = Run.objects.for_team(site.cast.team.id).filter(model="conductor-mini")
    assert len(runs) == 2
    for run in runs:
        assert BY_MODEL in str([recorded.event for recorded in run_events(run)])
