"""Names that are longer than a worker's protocol allows come back as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.llm.chat import ChatClient
from apps.llm.protocols.registry import PROTOCOLS
from apps.llm.testing import DIALECTS, FakeProvider, ModelAnswer, stream_of
from apps.llm.tool_names import ToolNames
from apps.llm.types import ChatRequest, Delta, Protocol, ToolCallDelta
from tests.llm.conftest import endpoint_of
from tests.llm.test_chat import collect

LONG = "mcp__issue_tracker__" + "list_comments_of_an_issue_" * 4
OTHER = LONG[:-1] + "X"
USER = {"role": "user", "content": "Hi"}


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {}}}


def called(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def names_in(request: ChatRequest) -> list[str]:
    return [tool["function"]["name"] for tool in request.tools]


def test_names_that_fit_are_sent_as_they_are():
    request = ChatRequest([USER, called("find")], tools=(tool("find"), tool("x" * 64)))
    assert ToolNames(64).fit(request) is request


def test_long_names_are_cut_apart_and_restored():
    names = ToolNames(64)
    short = names_in(names.fit(ChatRequest([USER], tools=(tool(LONG), tool(OTHER)))))
    assert [len(name) for name in short] == [64, 64] and short[0] != short[1]
    delta = Delta(tool_calls=tuple(map(calls_of, short)))
    restored = names.restore(delta).tool_calls
    assert [call.name for call in restored] == [LONG, OTHER]


def calls_of(name: str) -> ToolCallDelta:
    return ToolCallDelta(0, "c", name, "{}")


def test_every_turn_sends_the_same_name():
    (first,) = names_in(ToolNames(64).fit(ChatRequest([USER], tools=(tool(LONG),))))
    request = ToolNames(64).fit(ChatRequest([USER, called(LONG)], tools=(tool(LONG),)))
    assert names_in(request) == [first]
    assert request.messages[1]["tool_calls"][0]["function"]["name"] == first


def test_a_dot_is_sent_as_underscores_unless_another_tool_has_that_name():
    names = ToolNames(64)
    tools = (tool("atlas.look"), tool("atlas.read"), tool("atlas__read"))
    sent = names_in(names.fit(ChatRequest([USER], tools=tools)))
    assert (sent[0], sent[2]) == ("atlas__look", "atlas__read")
    assert len(set(sent)) == 3
    restored = names.restore(Delta(tool_calls=tuple(map(calls_of, sent)))).tool_calls
    assert [call.name for call in restored] == [t["function"]["name"] for t in tools]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "function", "function": {"name": LONG}},
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "auto", "tools": [tool(LONG)]},
        },
    ],
)
def test_choices_name_what_is_sent(choice: dict[str, Any]):
    request = ChatRequest([USER], tools=(tool(LONG),), tool_choice=choice)
    fitted = ToolNames(64).fit(request)
    assert LONG not in str(fitted.tool_choice)
    assert names_in(fitted)[0] in str(fitted.tool_choice)


def test_pieces_without_a_name_pass():
    names = ToolNames(64)
    names.fit(ChatRequest([USER], tools=(tool(LONG),)))
    delta = Delta(tool_calls=(ToolCallDelta(0, arguments="{"),))
    assert names.restore(delta) == delta


@pytest.mark.parametrize("protocol", DIALECTS)
@pytest.mark.parametrize("is_stream", [True, False])
async def test_models_see_what_they_allow_and_callers_their_own(
    client: ChatClient, protocol: Protocol, is_stream: bool
):
    request = ChatRequest([USER], tools=(tool(LONG),))
    limit = PROTOCOLS[protocol].max_tool_name
    (sent,) = names_in(ToolNames(limit).fit(request))
    answer = ModelAnswer((), calls=(calls_of(sent),), finish_reason="tool_calls")
    dialect = DIALECTS[protocol]
    script = stream_of(dialect, answer) if is_stream else dialect.answer_script(answer)
    async with FakeProvider(script) as provider:
        endpoint = replace(endpoint_of(provider), protocol=protocol)
        if is_stream:
            items = await collect(client, endpoint, request)
        else:
            items = [*await client.complete(endpoint, request)]
        body = provider.requests[0].body
    deltas = [item for item in items if isinstance(item, Delta)]
    names = [call.name for delta in deltas for call in delta.tool_calls if call.name]
    assert names == [LONG]
    assert sent.encode() in body
