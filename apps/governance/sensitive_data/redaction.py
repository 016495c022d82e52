"""Replaces sensitive data by placeholders such as `[IBAN_1]`, and puts it back.

The same value has the same placeholder in all texts of a run. Numbers follow the order
of the texts, so a run that is resumed gets the same placeholders again. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from apps.engine.ports import Message, Messages
from apps.governance.sensitive_data.detection import Finding, findings_in
from apps.governance.sensitive_data.json_texts import texts_in_json, with_texts
from apps.governance.sensitive_data.own_patterns import OwnPattern

_PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]{0,29}_\d{1,9}\]", re.ASCII)


class Redactor:
    """The placeholders of one run."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Leave out placeholders that the prompt of the run holds by itself."""
        self._reserved = {p for text in texts for p in _PLACEHOLDER.findall(text)}
        self.patterns: Sequence[OwnPattern] = ()
        """Kinds that are found beside those that are built in."""
        self._placeholders: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}

    def redact(self, text: str, kinds: Collection[str]) -> str:
        """Return a text with placeholders in place of what is found of `kinds`."""
        parts: list[str] = []
        end = 0
        for found in self._found(text, kinds):
            value = text[found.start : found.end]
            parts += [text[end : found.start], self._placeholder(found.kind, value)]
            end = found.end
        return "".join((*parts, text[end:]))

    def _found(self, text: str, kinds: Collection[str]) -> list[Finding]:
        """Return what to replace: findings that overlap become one, of the first."""
        own = [each for pattern in self.patterns for each in pattern.findings(text)]
        found = [each for each in (*findings_in(text), *own) if each.kind in kinds]
        found.sort(key=lambda each: each.start)  # built-in kinds first, at one place
        merged: list[Finding] = []
        for each in found:
            if merged and each.start < merged[-1].end:
                end = max(merged[-1].end, each.end)
                merged[-1] = replace(merged[-1], end=end)
            else:
                merged.append(each)
        return merged

    def redact_messages(self, messages: Messages, kinds: Collection[str]) -> Messages:
        """Return a conversation with placeholders in all its texts, images as is."""
        return tuple(self._message(message, kinds) for message in messages)

    def restore(self, text: str, *, in_json: bool = False) -> str:
        """Return a text with the values in place of their placeholders.

        `in_json`: the text is JSON, so values are escaped as in its strings.
        """

        def value(match: re.Match[str]) -> str:
            found = self._values.get(match[0], match[0])
            return orjson.dumps(found).decode()[1:-1] if in_json else found

        return _PLACEHOLDER.sub(value, text)

    def _placeholder(self, kind: str, value: str) -> str:
        known = self._placeholders.get((kind, value))
        if known is not None:
            return known
        number = 1
        while (made := f"[{kind.upper()}_{number}]") in self._reserved:
            number += 1
        self._reserved.add(made)
        self._placeholders[kind, value] = made
        self._values[made] = value
        return made

    def _message(self, message: Message, kinds: Collection[str]) -> Message:
        changed: dict[str, Any] = dict(message)
        content = changed.get("content")
        if isinstance(content, str):
            changed["content"] = self.redact(content, kinds)
        elif content:
            changed["content"] = [self._part(part, kinds) for part in content]
        if calls := changed.get("tool_calls"):
            changed["tool_calls"] = [self._call(call, kinds) for call in calls]
        return changed  # type: ignore[return-value]  # the same keys

    def _part(self, part: Mapping[str, Any], kinds: Collection[str]) -> Any:
        if part.get("type") != "text":
            return part
        return {**part, "text": self.redact(part["text"], kinds)}

    def _arguments(self, arguments: str, kinds: Collection[str]) -> str:
        """Return arguments of a tool with placeholders in their values.

        They stay JSON, and no escape in them hides anything.
        """

        def redact(text: str) -> str:
            return self.redact(text, kinds)

        if all(redact(text) == text for text in texts_in_json(arguments)):
            return arguments
        try:
            value = json.loads(arguments)
        except ValueError:
            return redact(arguments)
        return orjson.dumps(with_texts(value, redact)).decode()

    def _call(self, call: Mapping[str, Any], kinds: Collection[str]) -> Any:
        function = call["function"]
        arguments = self._arguments(function["arguments"], kinds)
        return {**call, "function": {**function, "arguments": arguments}}
