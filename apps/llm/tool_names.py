"""Fits the names of tools to a protocol that allows fewer characters than the caller's.

A name that is too long goes out as its beginning and a digest of the whole, the same in
every turn of a conversation, so that providers find their caches again. Answers come
back under the caller's own names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apps.llm.types import ChatRequest, Delta

DIGEST_CHARACTERS = 12


class ToolNames:
    """The names of one request that went out shortened."""

    __slots__ = ("_long_names", "_max_characters")

    def __init__(self, max_characters: int) -> None:
        self._max_characters = max_characters
        self._long_names: dict[str, str] = {}

    def fit(self, request: ChatRequest) -> ChatRequest:
        """Return the request with names that the protocol allows."""
        messages = tuple(self._fit_message(message) for message in request.messages)
        tools = tuple(self._fit_tool(tool) for tool in request.tools)
        if not self._long_names:
            return request
        choice = request.tool_choice
        if isinstance(choice, Mapping):
            choice = self._fit_choice(choice)
        return replace(request, messages=messages, tools=tools, tool_choice=choice)

    def restore(self, delta: Delta) -> Delta:
        """Return a piece of the answer with the caller's own names."""
        if not self._long_names or not delta.tool_calls:
            return delta
        calls = tuple(
            replace(call, name=self._long_names.get(call.name, call.name))
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
        function = tool.get("function")
        if not isinstance(function, Mapping):
            return tool
        name = function.get("name")
        if not isinstance(name, str) or len(name) <= self._max_characters:
            return tool
        short_name = _shortened(name, self._max_characters)
        self._long_names[short_name] = name
        return {**tool, "function": {**function, "name": short_name}}


def _shortened(name: str, max_characters: int) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{name[: max_characters - len(digest) - 1]}_{digest}"
