"""Whatever a request holds, its answer is a response or an error that names a field."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import InvalidInput
from apps.gateway.parsing.messages import settle
from apps.gateway.responses.input_parser import Reference
from apps.gateway.responses.previous_response import add_entry
from apps.gateway.responses.request import parse_request
from tests.gateway.responses.conftest import WEATHER

LIMIT = 2_000
WORDS = (
    "message", "user", "assistant", "system", "tool", "function", "function_call",
    "function_call_output", "input_text", "input_image", "output_text", "refusal",
    "reasoning", "item_reference", "json_schema", "allowed_tools", "auto", "required",
    "weather", "resp_" + "0" * 32, "msg_" + "0" * 32 + "00", "data:image/png;base64,x",
)  # fmt: skip
NAMES = (
    "type", "role", "content", "text", "image_url", "detail", "file_id", "call_id",
    "name", "arguments", "output", "id", "format", "schema", "strict", "tools", "mode",
    "parameters", "effort", "refusal",
)  # fmt: skip
FIELDS = (
    "input", "instructions", "tools", "tool_choice", "text", "metadata", "reasoning",
    "previous_response_id", "conductor", "background", "stream", "max_output_tokens",
    "temperature", "include", "user", "parallel_tool_calls",
)  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 99)
    | st.sampled_from(WORDS)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=12,
)
ITEMS = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(WORDS)}).flatmap(
        lambda item: st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5).map(
            lambda more: {**more, **item}
        )
    ),
    max_size=4,
)


@given(
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
    st.just("Hello") | ITEMS | VALUES,
)
def test_any_json_is_read_or_refused_by_name(fields: Any, asked: Any) -> None:
    body = {"model": "m", "tools": [WEATHER], "input": asked, **fields}
    messages: list[Any] = []
    try:
        request = parse_request(orjson.dumps(body))
        for entry in request.entries:
            if not isinstance(entry, Reference):
                add_entry(messages, entry)
        settle(tuple(messages), LIMIT, "input")
    except InvalidInput as error:
        assert error.param
