"""Fits the names of tools to a protocol that allows fewer characters than the caller's.

A name that is too long goes out as its beginning and a digest of the whole, the same in
every turn of a conversation, so that providers find their caches again. A dot, which
parts a namespace from a name here, becomes two underscores. Answers come back under the
caller's own names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.llm.types import ChatRequest, Delta

DIGEST_CHARACTERS = 12
DOT, UNDERSCORES = ".", "__"


class ToolNames:
    """The names of one request that went out shortened."""

    __slots__ = ("_max_characters", "_original_names", "_taken")

    def __init__(self, max_characters: int) -> None:
        self._max_characters = max_characters
        self._original_names: dict[str, str] = {}
        self._taken: frozenset[str] = frozenset()

    def fit(self, request: ChatRequest) -> ChatRequest:
        """Return the request with names that the protocol allows."""
        self._taken = frozenset(map(_name_of, request.tools))
        messages = tuple(self._fit_message(message) for message in request.messages)
        tools = tuple(self._fit_tool(tool) for tool in request.tools)
        if not self._original_names:
            return request
        choice = request.tool_choice
        if isinstance(choice, Mapping):
            choice = self._fit_choice(choice)
        return replace(request, messages=messages, tools=tools, tool_choice=choice)

    def restore(self, delta: Delta) -> Delta:
        """Return a piece of the answer with the caller's own names."""
        if not self._original_names or not delta.tool_calls:
            return delta
        calls = tuple(
            replace(call, name=self._original_names.get(call.name, call.name))
            for call in delta.tool_calls
        )
        return delta._replace(tool_calls=calls)

    def _fit_message(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        calls = message.get("tool_calls")
        if not calls:
            return message
        return {**message, "tool_calls": [self._fit_tool(call) for call in calls]}

    def _fit_choice(self, choice: Mapping[str, Any]) -> Mapping[str, Any]:
        allowed = choice.get("allowed_tools")
        if not isinstance(allowed, Mapping):
            return self._fit_tool(choice)
        tools = [self._fit_tool(tool) for tool in allowed.get("tools", ())]
        return {**choice, "allowed_tools": {**allowed, "tools": tools}}

    def _fit_tool(self, tool: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a tool, a call of one, or the choice of one, with a name that fits."""
        name = _name_of(tool)
        if len(name) <= self._max_characters and DOT not in name:
            return tool
        sent_name = self._sent_name(name)
        self._original_names[sent_name] = name
        return {**tool, "function": {**tool["function"], "name": sent_name}}

    def _sent_name(self, name: str) -> str:
        plain_name = name.replace(DOT, UNDERSCORES)
        if len(plain_name) <= self._max_characters and plain_name not in self._taken:
            return plain_name
        digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST_CHARACTERS]
        return f"{plain_name[: self._max_characters - len(digest) - 1]}_{digest}"


def _name_of(tool: Mapping[str, Any]) -> str:
    """Return the name in a tool, a call of one, or the choice of one; empty: none."""
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else ""
