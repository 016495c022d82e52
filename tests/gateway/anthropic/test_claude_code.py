"""The requests that Claude Code sends to a gateway, as they were recorded."""

from __future__ import annotations

from typing import Any

import httpx
import orjson
import pytest

from apps.runs.models import Run
from tests.conftest import Site

HEADERS = {
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "claude-cli/2.1.197 (external, sdk-cli)",
    "x-app": "cli",
    "x-claude-code-session-id": "8ebc22c4-180a-488c-9753-01795bb0778a",
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "x-stainless-timeout": "600",
    "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,"
    "context-management-2025-06-27,mid-conversation-system-2026-04-07",
    "anthropic-dangerous-direct-browser-access": "true",
    "anthropic-version": "2023-06-01",
}
METADATA = {"user_id": '{"device_id":"0","account_uuid":"","session_id":"8"}'}
CACHED = {"type": "ephemeral"}
READ = {
    "name": "Read",
    "description": "Reads a file.",
    "input_schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def mcp_tool(name: str, about: str = "Looks something up.") -> dict[str, Any]:
    schema = {"type": "object", "properties": {"about": {"type": "string"}}}
    return {"name": name, "description": about, "input_schema": schema}


TURN = {
    "model": "conductor-ultra",
    "max_tokens": 32_000,
    "system": [
        text("x-anthropic-billing-header: cc_version=2.1.197.84c;"),
        text("You are a Claude agent.", cache_control=CACHED),
        text("Help with software.", cache_control=CACHED),
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                text("<system-reminder>Today is Sunday.</system-reminder>"),
                text("What is 17 * 23 + 4?", cache_control=CACHED),
            ],
        },
        {"role": "system", "content": "Available agents: Explore."},
    ],
    "tools": [READ],
    "thinking": {"type": "adaptive"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015"}]},
    "output_config": {"effort": "high"},
    "metadata": METADATA,
    "stream": True,
}
TITLE = {
    "model": "conductor-mini",
    "max_tokens": 32_000,
    "system": [text("Generate a title.")],
    "messages": [
        {"role": "user", "content": [text("What is 17 * 23 + 4? Write the title.")]}
    ],
    "tools": [],
    "metadata": METADATA,
    "output_config": {
        "effort": "high",
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"title": {"type": "string"}},
                "required": ["title"],
                "additionalProperties": False,
            },
        },
    },
    "stream": True,
}


def send(site: Site, method: str, path: str, body: Any = None) -> httpx.Response:
    """Send a request with the headers that all of them have."""
    headers = {**HEADERS, "authorization": f"Bearer {site.key}"}
    content = None if body is None else orjson.dumps(body)
    return httpx.request(method, site.url + path, headers=headers, content=content)


def events(answer: httpx.Response) -> list[dict[str, Any]]:
    """Return the data of all events."""
    assert answer.status_code == 200, answer.text
    blocks = answer.text.strip().split("\n\n")
    return [orjson.loads(block.split("\ndata: ")[1]) for block in blocks]


def test_turn_is_answered_with_thoughts_and_text(site: Site) -> None:
    answer = send(site, "POST", "/v1/messages?beta=true", TURN)
    told = events(answer)
    deltas = [event["delta"] for event in told if "delta" in event]
    assert deltas[0]["thinking"].startswith("Plan: ")
    assert "395" in "".join(delta.get("text", "") for delta in deltas)
    assert told[-1]["type"] == "message_stop"
    run = Run.objects.for_team(site.cast.team.id).get()
    assert "billing-header" not in run.title
    ignored = answer.headers["x-conductor-ignored"].split(",")
    assert "context_management" in ignored and "metadata" not in ignored


@pytest.mark.parametrize("model", ["conductor-ultra", "worker/sim-delta"])
def test_c1_tools_of_many_mcp_servers_are_taken(site: Site, model: str) -> None:
    tools = [
        mcp_tool(f"mcp__server_{n:04}__look", about="x" * 1_700) for n in range(1_000)
    ]
    body = {**TURN, "model": model, "tools": [READ, *tools], "thinking": None}
    said = "".join(
        e["delta"].get("text", "")
        for e in events(send(site, "POST", "/v1/messages", body))
        if "delta" in e
    )
    assert "395" in said


@pytest.mark.parametrize("model", ["conductor-mini", "worker/sim-delta"])
def test_c2_a_tool_with_a_long_name_is_called_by_it(site: Site, model: str) -> None:
    name = "mcp__zeppelins__" + "x" * 111
    tools = [mcp_tool(name + "1"), mcp_tool(name + "2")]
    choice = {"type": "tool", "name": name + "2"}
    body = {**TURN, "model": model, "tools": tools, "tool_choice": choice}
    starts = [
        e["content_block"]
        for e in events(send(site, "POST", "/v1/messages", body))
        if e["type"] == "content_block_start"
    ]
    assert [b["name"] for b in starts if b["type"] == "tool_use"] == [name + "2"]


def test_c2_longer_names_than_the_protocol_has_are_refused(site: Site) -> None:
    body = {**TURN, "tools": [mcp_tool("x" * 129)]}
    answer = send(site, "POST", "/v1/messages", body)
    assert answer.status_code == 400
    assert "1 to 128" in answer.json()["error"]["message"]


def test_title_of_a_session_is_json(site: Site) -> None:
    told = events(send(site, "POST", "/v1/messages?beta=true", TITLE))
    said = "".join(e["delta"].get("text", "") for e in told if "delta" in e)
    assert set(orjson.loads(said)) == {"title"}


def test_tokens_are_counted(site: Site) -> None:
    names = ("model", "system", "messages", "tools", "thinking")
    body = {name: TURN[name] for name in names}
    answer = send(site, "POST", "/v1/messages/count_tokens?beta=true", body)
    assert answer.json()["input_tokens"] > 50


def test_models_are_found(site: Site) -> None:
    page = send(site, "GET", "/v1/models?limit=1000").json()
    assert {"type", "id", "display_name"} <= set(page["data"][0])
    assert page["has_more"] is False


@pytest.mark.parametrize("path", ["/", "/v1/models"])
def test_probe_of_the_address_is_answered(site: Site, path: str) -> None:
    assert send(site, "HEAD", path).status_code < 400


def test_wrong_key_is_told_in_shape(site: Site) -> None:
    headers = {**HEADERS, "authorization": "Bearer cdk_wrong"}
    url = f"{site.url}/v1/messages?beta=true"
    answer = httpx.post(url, headers=headers, content=orjson.dumps(TURN))
    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"
