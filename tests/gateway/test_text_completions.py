"""`/v1/completions`, the legacy form: one prompt, whole and streamed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from openai import OpenAI
from openai.types import Completion

from tests.conftest import Site
from tests.gateway.conftest import Client
from tests.gateway.fakes import RUN_ID, Exchanged, answer_piece, completed, failed

PATH = "/v1/completions"


async def _complete(client: Client, **fields: Any) -> Exchanged:
    body = {"model": "conductor-mini", "prompt": "What is 6 times 7?", **fields}
    return await client.ask("POST", PATH, orjson.dumps(body))


async def test_answer_is_a_completion_of_the_openai_client(client: Client) -> None:
    client.run.plays(completed("It is 42."))
    answer = await _complete(client)
    parsed = Completion.model_validate(answer.json, strict=True)
    assert (parsed.id, parsed.object) == (f"cmpl-{RUN_ID.hex}", "text_completion")
    assert parsed.choices[0].text == "It is 42."
    assert answer.json["conductor"]["run_id"] == str(RUN_ID)
    assert answer.headers["x-conductor-cost-usd"] == "0.001234"


async def test_prompt_and_parameters_reach_the_run(client: Client) -> None:
    client.run.plays(completed())
    await _complete(client, prompt=["Why?"], max_tokens=9, stop="\n", temperature=0)
    order = client.backend.orders[0]
    assert (order.prompt, order.params.max_tokens) == ("Why?", 9)
    assert (order.params.stop, order.params.temperature) == (("\n",), 0.0)


async def test_every_chunk_is_one_of_the_openai_client(client: Client) -> None:
    client.run.plays(answer_piece("4"), answer_piece("2"), completed("42"))
    answer = await _complete(
        client, stream=True, stream_options={"include_usage": True}
    )
    chunks = [Completion.construct(**chunk) for chunk in answer.chunks]
    texts = [choice.text for chunk in chunks for choice in chunk.choices]
    assert "".join(texts) == "42"
    assert [c.finish_reason for chunk in chunks for c in chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None and chunks[-1].usage.total_tokens == 150
    assert answer.body.endswith(b"data: [DONE]\n\n")


async def test_a_failed_run_ends_the_stream_with_its_error(client: Client) -> None:
    client.run.plays(answer_piece("4"), failed("worker_failed"))
    answer = await _complete(client, stream=True)
    assert answer.chunks[-1]["error"]["code"] == "worker_failed"
    assert b"[DONE]" not in answer.body


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": ["one", "two"]}, "prompt"),
        ({"prompt": [1, 2, 3]}, "prompt"),
        ({"prompt": " \n"}, "prompt"),
        ({"prompt": None}, "prompt"),
        ({"suffix": "}"}, "suffix"),
        ({"echo": True}, "echo"),
        ({"n": 2}, "n"),
        ({"best_of": 3}, "best_of"),
        ({"logprobs": 0}, "logprobs"),
        ({"tools": []}, "tools"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"max_tokens": 0}, "max_tokens"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name(
    client: Client, fields: dict[str, Any], param: str
) -> None:
    answer = await _complete(client, **fields)
    assert (answer.status, answer.json["error"]["param"]) == (400, param)
    assert client.backend.orders == []


async def test_a_key_is_needed(client: Client) -> None:
    assert (await client.ask("POST", PATH, b"{}", key=None)).status == 401


def test_the_openai_client_completes_and_streams(site: Site) -> None:
    with OpenAI(base_url=site.api_url, api_key=site.key) as openai:
        asked = {"model": "conductor-mini", "prompt": "What is 17 * 23 + 4?"}
        whole = openai.completions.create(**asked)  # type: ignore[call-overload]
        stream = openai.completions.create(**asked, stream=True)  # type: ignore[call-overload]
        streamed = "".join(c.choices[0].text for c in stream if c.choices)
    assert "395" in whole.choices[0].text
    assert "395" in streamed
