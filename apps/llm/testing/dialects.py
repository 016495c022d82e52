"""The dialects of the scripted provider, by protocol."""

from __future__ import annotations

from collections.abc import Mapping

from apps.llm.testing.answers import AnswerProtocol
from apps.llm.testing.anthropic import AnthropicDialect
from apps.llm.testing.gemini import GeminiDialect
from apps.llm.testing.openai import OpenAiDialect
from apps.llm.types import Protocol

DIALECTS: Mapping[Protocol, AnswerProtocol] = {
    "openai": OpenAiDialect(),
    "anthropic": AnthropicDialect(),
    "gemini": GeminiDialect(),
}
