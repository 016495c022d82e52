"""Answers as JSON: by every schema a client may send, and wrong on purpose."""

from __future__ import annotations

import json
from typing import Any

import httpx
import jsonschema_rs
import pytest

from tests.simulator.asking import CHAT, Asker

QUESTION = "What is 6*7?"
RESULT = {
    "type": "object",
    "properties": {"result": {"type": "integer"}},
    "required": ["result"],
    "additionalProperties": False,
}


def wanted(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}


@pytest.mark.parametrize(
    "schema",
    [
        RESULT,
        {"type": "array", "items": {"type": "string"}, "minItems": 3},
        {"type": ["integer", "null"], "minimum": 50},
        {"type": "number", "maximum": 10.5},
        {"type": "string", "minLength": 5, "maxLength": 6},
        {"type": "null"},
        {"type": "boolean"},
        {"const": [1, 2]},
        {"enum": ["a", "b"]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"oneOf": [{"type": "string"}]},
        {
            "properties": {"inner": {"$ref": "#/$defs/result"}},
            "required": ["inner"],
            "$defs": {"result": RESULT},
        },
    ],
)
async def test_answer_follows_the_schema(ask: Asker, schema: dict[str, Any]) -> None:
    answer = await ask("sim-atlas", QUESTION, response_format=wanted(schema))
    jsonschema_rs.validate(schema, json.loads(answer))


async def test_endless_schema_comes_to_an_end(ask: Asker) -> None:
    schema = {"type": "object", "properties": {"again": {"$ref": "#"}}}
    answer = await ask("sim-atlas", QUESTION, response_format=wanted(schema))
    assert json.loads(answer) == {"again": {"again": {"again": {}}}}


async def test_json_object_needs_no_schema(ask: Asker) -> None:
    answer = await ask("sim-atlas", QUESTION, response_format={"type": "json_object"})
    assert json.loads(answer)["answer"] == "42"


@pytest.mark.parametrize("model", ["json-once", "schema-once"])
async def test_wrong_answer_is_repaired_when_it_is_shown(
    client: httpx.AsyncClient, ask: Asker, model: str
) -> None:
    wrong = await ask(model, QUESTION, response_format=wanted(RESULT))
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": wrong},
        {"role": "user", "content": f"{QUESTION} As JSON, please."},
    ]
    body = {
        "model": model,
        "messages": messages,
        "response_format": wanted(RESULT),
    }
    response = (await client.post(CHAT, json=body)).json()
    repaired = json.loads(response["choices"][0]["message"]["content"])
    assert not _follows(wrong)
    assert jsonschema_rs.is_valid(RESULT, repaired)


async def test_stubborn_model_stays_wrong(
    client: httpx.AsyncClient, ask: Asker
) -> None:
    wrong = await ask("json-never", QUESTION, response_format=wanted(RESULT))
    messages = [
        {"role": "assistant", "content": wrong},
        {"role": "user", "content": QUESTION},
    ]
    body = {
        "model": "json-never",
        "messages": messages,
        "response_format": wanted(RESULT),
    }
    response = (await client.post(CHAT, json=body)).json()
    assert response["choices"][0]["message"]["content"] == wrong


async def test_text_is_never_wrong(ask: Asker) -> None:
    assert (await ask("json-never", QUESTION)).startswith("**42**")


def _follows(text: str) -> bool:
    try:
        return jsonschema_rs.is_valid(RESULT, json.loads(text))
    except ValueError:
        return False
