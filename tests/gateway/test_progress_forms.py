"""D2: progress never mixes with the answer, and its form is the caller's choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from apps.engine.events import StepAttemptFailed
from apps.engine.usage import Usage
from tests.gateway.conftest import CHAT, Client, chat_body
from tests.gateway.fakes import (
    answer_piece,
    completed,
    holder,
    plan,
    step_completed,
    step_started,
)

BROKEN = StepAttemptFailed(0, 1, 1, "writer", "incomplete", "", Usage(), None, 1)
RESCUED = (
    plan(),
    step_started(1, "writer"),
    answer_piece("4"),
    BROKEN,
    step_started(1, "spare", attempt=2),
    answer_piece("2"),
    step_completed(1, "spare"),
    completed("42"),
)


def kinds(answer: Any) -> list[str]:
    """Return what the chunks with anything in their delta tell, in order."""
    found = []
    for chunk in answer.chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            found += [k for k in ("content", "reasoning") if delta.get(k)]
    return found


async def test_no_progress_after_the_first_piece_of_the_answer(client: Client) -> None:
    client.run.plays(*RESCUED)
    answer = await client.chat(stream=True)
    told = kinds(answer)
    first = told.index("content")
    assert "reasoning" in told[:first]
    assert "reasoning" not in told[first:]
    assert "".join(answer.deltas("content")) == "42"


@pytest.mark.parametrize(
    ("of_key", "of_request", "has_lines", "has_events"),
    [
        (None, None, True, False),
        ("off", None, False, False),
        ("events", None, False, True),
        ("off", "reasoning", True, False),
        (None, "off", False, False),
        ("reasoning", "events", False, True),
    ],
)
async def test_the_request_says_how_progress_is_told_else_the_key(
    client: Client, of_key: Any, of_request: Any, has_lines: bool, has_events: bool
) -> None:
    client.backend.caller = replace(holder(), progress=of_key)
    client.run.plays(*RESCUED)
    answer = await client.chat(stream=True, conductor={"progress": of_request})
    assert (b'"reasoning_content"' in answer.body) is has_lines
    assert (b"event: step.completed" in answer.body) is has_events


async def test_the_header_adds_events_to_what_was_chosen(client: Client) -> None:
    client.run.plays(*RESCUED)
    body = orjson.dumps(chat_body(stream=True, conductor={"progress": "off"}))
    headers = {"x-conductor-events": "true"}
    answer = await client.ask("POST", CHAT, body, headers=headers)
    assert b"event: step.completed" in answer.body
    assert b'"reasoning_content"' not in answer.body


async def test_an_unknown_form_is_refused(client: Client) -> None:
    answer = await client.chat(conductor={"progress": "loud"})
    assert (answer.status, answer.error["param"]) == (400, "conductor.progress")


@pytest.mark.parametrize(("form", "is_told"), [("off", False), (None, True)])
async def test_responses_leave_their_summary_out_too(
    client: Client, form: Any, is_told: bool
) -> None:
    client.run.plays(*RESCUED)
    body = {
        "model": "conductor-mini",
        "input": "Hi",
        "stream": True,
        "conductor": {"progress": form},
    }
    answer = await client.ask("POST", "/v1/responses", orjson.dumps(body))
    assert (b"reasoning_summary_text.delta" in answer.body) is is_told
