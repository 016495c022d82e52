"""The wire protocols: how each reads a request and frames an answer."""

from __future__ import annotations

from apps.simulator.surfaces import anthropic, gemini
from apps.simulator.surfaces.anthropic import AnthropicSurface
from apps.simulator.surfaces.base import Call, Surface
from apps.simulator.surfaces.gemini import GeminiSurface
from apps.simulator.surfaces.openai import OpenAISurface

OPENAI: Surface = OpenAISurface()
ANTHROPIC: Surface = AnthropicSurface()
GEMINI: Surface = GeminiSurface()


def surface_of(call: Call) -> Surface:
    """Return the protocol that `call` speaks."""
    if call.path.startswith(f"{gemini.BASE_PATH}/"):
        return GEMINI
    is_anthropic = call.path == f"{anthropic.BASE_PATH}/messages"
    if is_anthropic or anthropic.VERSION_HEADER in call.headers:
        return ANTHROPIC
    return OPENAI
