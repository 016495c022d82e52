"""When a simulated worker calls tools, with which arguments, and what it makes of them.

A tool is called if it must be, or if what the user said last asks for it: by its name,
or by every word of it that says something ("weather" for `get_weather`). A name that is
an everyday word, such as `Read`, must be called a tool. `[[call name {…}]]` in a
question says exactly what to call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from apps.simulator import structured
from apps.simulator.answers import SimulatedAnswer
from apps.simulator.request import SimulatedRequest, SimulatedToolCall, Tool

SCRIPTED = re.compile(
    r"\[\[call ([\w.-]+) (\{(?:(?!\[\[call |\}\]\]).)*+\})\]\]", re.DOTALL
)
NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a agent an ask by create do edit fetch find for get in list look make of open "
        "plan query read run search send skill task the to tool up update write",
    )
)
"""Parts of a tool's name that say nothing about what it knows."""
NAME = r"[A-Z][\w'-]*(?:\s[A-Z][\w'-]*)*"
PLACES = re.compile(
    rf"\b(?:in|for|of|at|to|from)\s+({NAME}(?:(?:,|,?\s+and)\s+(?:in\s+)?{NAME})*)"
)
AND = re.compile(r"(?<!\s)(?:(?:\s++|\s*+,\s++)and\s++(?:in\s++)?|\s*+,\s*+)")
QUOTED = re.compile(r"[\"'«“]([^«“\n]+?)[\"'»”]")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
SUM_RUN = re.compile(r"[\d\s.+*/()^%-]++")
SUM_START = re.compile(r"(?<!\()\(*+-?\d")
OPERATORS = "+*/^%-"


def scripted(text: str) -> tuple[SimulatedToolCall, ...]:
    """Return the calls that `text` spells out."""
    return tuple(
        SimulatedToolCall(name, arguments) for name, arguments in SCRIPTED.findall(text)
    )


def wanted(
    request: SimulatedRequest, text: str, asking: str, answer: str
) -> tuple[SimulatedToolCall, ...]:
    """Return what a worker calls before it answers `text`; nothing if it need not.

    `asking` is what of it the user said last. `answer` is what the worker would say
    itself, empty if it does not know: a tool it must call without being told what about
    gets this.
    """
    if not request.tools or request.tool_choice == "none":
        return ()
    if request.results:
        # Also where a tool is still required: many clients never take that back, and a
        # model that obeyed them would call it for ever.
        return ()
    is_free = request.tool_choice == "auto"
    offered = _offered(request)
    names = {tool.name for tool in offered}
    calls = tuple(call for call in scripted(text) if call.name in names)
    if not calls:
        meant = tuple(tool for tool in offered if _is_meant(tool, asking))
        calls = tuple(call for tool in meant for call in _calls(tool, asking))
    if not calls and not is_free:
        calls = (_forced(offered[0], text, answer),)
    return calls if request.is_parallel else calls[:1]


def from_results(request: SimulatedRequest) -> SimulatedAnswer | None:
    """Return the answer that the results at the end give; None without any."""
    results = request.results
    if not results:
        return None
    if len(results) == 1:
        name, text = results[0]
        return SimulatedAnswer(text, f"**{text}**\n\nThat is what `{name}` returned.")
    rows = "\n".join(f"- `{name}`: **{text}**" for name, text in results)
    short = "; ".join(text for _, text in results)
    return SimulatedAnswer(short, f"The tools returned:\n\n{rows}")


def _offered(request: SimulatedRequest) -> tuple[Tool, ...]:
    if not request.tool_choice.startswith("="):
        return request.tools
    return tuple(t for t in request.tools if t.name == request.tool_choice[1:])


def _is_meant(tool: Tool, text: str) -> bool:
    lowered, name = text.lower(), re.escape(tool.name.lower())
    words = {part.lower() for part in NAME_PARTS.findall(tool.name)} - EMPTY_WORDS
    if not words and tool.name.isalpha():
        pattern = rf"\btool {name}\b|\b{name} tool\b|`{name}`"
        return re.search(pattern, lowered) is not None
    if re.search(rf"(?<![\w-]){name}(?![\w-])", lowered):
        return True
    return bool(words) and all(re.search(rf"\b{word}", lowered) for word in words)


def _calls(tool: Tool, text: str) -> tuple[SimulatedToolCall, ...]:
    """Return one call, or one for each place that is named."""
    places = _places(text)
    needed = _needed(tool.parameters)
    if len(places) > 1 and len(needed) == 1 and _type(needed[0][1]) == "string":
        return tuple(_call(tool, text, (place,)) for place in places)
    return (_call(tool, text, places),)


def _call(tool: Tool, text: str, places: tuple[str, ...]) -> SimulatedToolCall:
    arguments: dict[str, Any] = {}
    required = dict(_needed(tool.parameters))
    for name, schema in _properties(tool.parameters).items():
        value = _evidence(name, schema, text, places)
        if value is None and name in required:
            value = structured.value_of(schema, text)
        if value is not None:
            arguments[name] = value
    return SimulatedToolCall(tool.name, orjson.dumps(arguments).decode())


def _forced(tool: Tool, text: str, answer: str) -> SimulatedToolCall:
    if not answer:
        return _call(tool, text, _places(text))
    return SimulatedToolCall(tool.name, structured.as_json(answer, "", tool.parameters))


def _evidence(
    name: str, schema: Mapping[str, Any], text: str, places: tuple[str, ...]
) -> Any:
    """Return what `text` says the argument is; None if it says nothing."""
    named = re.search(rf"\b{re.escape(name)}\s*[=:]\s*\"?([^\s\",;]+)", text)
    choices = schema.get("enum")
    if isinstance(choices, list):
        return next((c for c in choices if str(c).lower() in text.lower()), None)
    match _type(schema):
        case "integer" | "number" as kind:
            found = named or NUMBER.search(text)
            if found is None:
                return None
            number = NUMBER.search(found[0])
            return structured.number(number[0] if number else "", kind == "integer")
        case "string":
            return named[1] if named else _string(name, text, places)
    return None


def _string(name: str, text: str, places: tuple[str, ...]) -> str | None:
    if name in ("expression", "formula"):
        return _sum(text)
    if name in ("query", "question", "text", "prompt", "q"):
        quoted = QUOTED.search(text)
        return quoted[1] if quoted else text
    if places:
        return places[0]
    quoted = QUOTED.search(text)
    return quoted[1] if quoted else None


def _sum(text: str) -> str | None:
    """Return the first term with an operator between two numbers."""
    for run in SUM_RUN.findall(text):
        if (start := SUM_START.search(run)) is None:
            continue
        last = max(n for n, each in enumerate(run) if each.isdecimal())
        if set(OPERATORS) & set(run[start.end() : last]):
            closing = len(run[last + 1 :]) - len(run[last + 1 :].lstrip(")"))
            return str(run[start.start() : last + 1 + closing])
    return None


def _places(text: str) -> tuple[str, ...]:
    found = (name for match in PLACES.findall(text) for name in AND.split(match))
    return tuple(dict.fromkeys(name.strip() for name in found if name.strip()))


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _needed(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    required = schema.get("required")
    names = required if isinstance(required, list) else []
    return [(n, s) for n, s in _properties(schema).items() if n in names]


def _type(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return structured.first_type(kind)
