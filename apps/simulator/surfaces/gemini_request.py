"""Reads a Gemini generateContent request, as strictly as the provider does.

Source: Gemini API reference, generateContent, function calling, structured output.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from apps.simulator.pictures import Picture
from apps.simulator.request import (
    ChatMessage,
    Format,
    InvalidRequest,
    SimulatedRequest,
    SimulatedToolCall,
    Tool,
    check_calls,
    check_choice,
)
from apps.simulator.surfaces import fields

SNAKE = re.compile(r"_([a-z])")
URL_SAFE = str.maketrans("-_", "+/")
WORD = re.compile(r"\w+")
FIELDS = frozenset(
    WORD.findall(
        "contents systemInstruction generationConfig tools toolConfig safetySettings "
        "cachedContent model labels store"
    )
)
SCHEMA_FIELDS = frozenset(
    WORD.findall(
        "type format title description nullable enum maxItems minItems properties "
        "required minProperties maxProperties minLength maxLength pattern example "
        "anyOf propertyOrdering default items minimum maximum"
    )
)
"""What `Schema` knows of JSON schemas; the fields named after them take all of it."""
MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}


def read(body: bytes, model: str, *, is_streamed: bool) -> SimulatedRequest:
    """Return the request in `body`. Raises: BadRequest."""
    data = _camel(fields.load(body))
    _check_names(data, FIELDS, "")
    config = _object(data, "generationConfig")
    contents = fields.objects(data.get("contents"), "contents", may_be_empty=False)
    system = _system(_object(data, "systemInstruction"))
    messages = (*system, *_messages(contents))
    check_calls(messages)
    begun = messages[-1].text if messages[-1].role == "assistant" else ""
    choice, tools = _tools(data)
    check_choice(tools, choice)
    wanted, schema = _format(config)
    return SimulatedRequest(
        model=model,
        messages=messages[:-1] if begun else messages,
        begun=begun,
        is_streamed=is_streamed,
        includes_usage=True,
        max_tokens=fields.whole_number(
            config.get("maxOutputTokens"), "generation_config.max_output_tokens"
        ),
        stop=fields.texts(
            config.get("stopSequences"), "generation_config.stop_sequences"
        ),
        format=wanted,
        schema=schema,
        tools=tools,
        tool_choice=choice,
    )


def _object(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = data.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidRequest(f"{name} must be an object", name)
    return value if name == "properties" else _camel(value)


def _camel(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object with its own names in camel case: both forms are taken."""
    return {SNAKE.sub(lambda m: m[1].upper(), k): v for k, v in value.items()}


def _check_names(value: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    for name in value:
        if name not in known:
            raise InvalidRequest(f'Unknown name "{name}": Cannot find field.', place)


# --- contents -------------------------------------------------------------------------


def _system(value: dict[str, Any]) -> tuple[ChatMessage, ...]:
    parts = fields.objects(value.get("parts"), "system_instruction.parts")
    texts = [fields.text(p.get("text"), "system_instruction.parts") for p in parts]
    return (ChatMessage("system", "\n".join(texts)),) if texts else ()


@dataclass(slots=True)
class _Turn:
    """What the parts of one content amount to."""

    texts: list[str] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    calls: list[SimulatedToolCall] = field(default_factory=list)
    results: list[ChatMessage] = field(default_factory=list)
    waiting: list[SimulatedToolCall] = field(default_factory=list)
    """Calls of the turn before that have no result yet."""


def _messages(contents: list[Any]) -> tuple[ChatMessage, ...]:
    messages: list[ChatMessage] = []
    waiting: list[SimulatedToolCall] = []
    for number, content in enumerate(contents):
        place = f"contents[{number}]"
        role = content.get("role", "user")
        if role not in ("user", "model", "function"):
            raise InvalidRequest(
                "Please use a valid role: user, model.", f"{place}.role"
            )
        turn = _Turn(waiting=waiting)
        parts = fields.objects(
            content.get("parts"), f"{place}.parts", may_be_empty=False
        )
        for at, part in enumerate(parts):
            _read_part(turn, part, role == "model", f"{place}.parts[{at}]")
        messages += turn.results
        if turn.texts or turn.pictures or turn.calls:
            own = "assistant" if role == "model" else "user"
            pictures, calls = tuple(turn.pictures), tuple(turn.calls)
            messages.append(ChatMessage(own, "".join(turn.texts), pictures, calls))
        waiting = list(turn.calls)
    return tuple(messages)


def _read_part(turn: _Turn, part: dict[str, Any], is_model: bool, place: str) -> None:
    named = _camel(part).items()
    match {name: _camel(v) if isinstance(v, dict) else v for name, v in named}:
        case {"thought": True}:
            pass  # a model's own thoughts come back; they change nothing here
        case {"text": str(text)}:
            turn.texts.append(text)
        case {"inlineData": {"mimeType": media_type, "data": str(data)}}:
            data = data.translate(URL_SAFE)
            turn.pictures.append(fields.picture_in(media_type, data, place))
        case {"fileData": {"fileUri": uri}}:
            turn.pictures.append(fields.picture_at(uri, f"{place}.file_data.file_uri"))
        case {"functionCall": {"name": str(name)} as call} if is_model:
            given = call.get("id")
            identity = given if isinstance(given, str) else f"{place} {name}"
            arguments = orjson.dumps(call.get("args") or {}).decode()
            turn.calls.append(SimulatedToolCall(name, arguments, identity))
        case {"functionResponse": {"name": str(), "response": dict()} as said}:
            turn.results.append(_result(turn, said, place))
        case _:
            raise InvalidRequest("this part holds nothing a turn may have", place)


def _result(turn: _Turn, said: dict[str, Any], place: str) -> ChatMessage:
    """Return the result of the first waiting call that it fits: by id, else by name."""
    key = "id" if said.get("id") else "name"
    found = [call for call in turn.waiting if getattr(call, key) == said[key]]
    if not found:
        raise InvalidRequest(
            "the number of function response parts must equal the number of function "
            "call parts of the function call turn",
            place,
        )
    turn.waiting.remove(found[0])
    return ChatMessage("tool", _told(said["response"]), answers=found[0].id)


def _told(response: dict[str, Any]) -> str:
    """Return a response that is one text as this text, any other as JSON."""
    if len(response) == 1:
        (value,) = response.values()
        if isinstance(value, str):
            return value
    return orjson.dumps(response).decode()


# --- tools and format -----------------------------------------------------------------


def _tools(data: dict[str, Any]) -> tuple[str, tuple[Tool, ...]]:
    """Return which tools may be chosen, and how."""
    declared = [
        declaration
        for number, group in enumerate(fields.objects(data.get("tools"), "tools"))
        for declaration in fields.objects(
            _camel(group).get("functionDeclarations"),
            f"tools[{number}].function_declarations",
        )
    ]
    tools = tuple(_tool(_camel(item), n) for n, item in enumerate(declared))
    config = _object(_object(data, "toolConfig"), "functionCallingConfig")
    mode = config.get("mode", "AUTO")
    if mode not in MODES:
        raise InvalidRequest(f"Invalid value: {mode!r}", "tool_config.mode")
    allowed = fields.texts(config.get("allowedFunctionNames"), "tool_config")
    if not allowed:
        return MODES[mode], tools
    if mode not in ("ANY", "VALIDATED"):
        raise InvalidRequest("allowed names need mode ANY or VALIDATED", "tool_config")
    for name in allowed:
        check_choice(tools, f"={name}")
    return MODES[mode], tuple(tool for tool in tools if tool.name in allowed)


def _tool(item: dict[str, Any], number: int) -> Tool:
    place = f"function_declarations[{number}]"
    if "parametersJsonSchema" in item:
        return fields.tool(item, "parametersJsonSchema", place)
    _check_schema(item.get("parameters"), f"{place}.parameters")
    return fields.tool(item, "parameters", place)


def _format(config: dict[str, Any]) -> tuple[Format, dict[str, Any] | None]:
    place = "generation_config"
    schema = config.get("responseJsonSchema")
    if schema is None:
        schema = config.get("responseSchema")
        _check_schema(schema, f"{place}.response_schema")
    if schema is not None and not isinstance(schema, dict):
        raise InvalidRequest("a schema is an object", f"{place}.response_json_schema")
    if config.get("responseMimeType", "text/plain") != "application/json":
        if schema is not None:
            raise InvalidRequest(
                "needs application/json", f"{place}.response_mime_type"
            )
        return "text", None
    return ("json_object", None) if schema is None else ("json_schema", schema)


def _check_schema(schema: Any, place: str) -> None:
    """Return if `schema` uses only what `Schema` knows. Raises: BadRequest."""
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise InvalidRequest("a schema is an object", place)
    _check_names(_camel(schema), SCHEMA_FIELDS, place)
    for name, part in _object(schema, "properties").items():
        _check_schema(part, f"{place}.properties[{name}]")
    _check_schema(schema.get("items"), f"{place}.items")
    for number, part in enumerate(fields.objects(schema.get("anyOf"), place)):
        _check_schema(part, f"{place}.any_of[{number}]")
