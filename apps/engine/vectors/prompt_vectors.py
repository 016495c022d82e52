"""The vector of a prompt, which an embedding worker makes for a planner. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from apps.engine.usage import CHARACTERS_PER_TOKEN, TOKENS_PER_MESSAGE

MAX_CHARACTERS = 4_000
"""That an embedding worker is sent of a prompt."""


@dataclass(frozen=True, slots=True)
class PromptVector:
    """The vector of a prompt, or why there is none."""

    values: bytes = b""
    """32-bit floating-point numbers, little endian. Empty: there is none."""
    missing: str = ""
    """Why there is none, in words. Empty: there is one."""


async def no_vector() -> PromptVector:
    """Return that there is none, because no worker can make it."""
    return PromptVector(missing="no worker that this run may use makes such vectors")


def embedded_text(prompt: str, text_tokens: int | None) -> str:
    """Return what an embedding worker is sent of a prompt.

    Of a long one, its beginning and its end: few of these models read more.
    `text_tokens`: what the worker reads, None if that is unknown.
    """
    most = MAX_CHARACTERS
    if text_tokens is not None:
        room = max(1, text_tokens - TOKENS_PER_MESSAGE) * CHARACTERS_PER_TOKEN
        most = min(most, room * len(prompt) // max(1, len(prompt.encode())))
    if len(prompt) <= most:
        return prompt
    half = max(1, most // 2)
    return f"{prompt[:half]} {prompt[-half:]}"
