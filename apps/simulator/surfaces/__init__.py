"""The wire protocols: how each reads a request and frames an answer."""

from __future__ import annotations

from apps.simulator.surfaces.anthropic import AnthropicSurface
from apps.simulator.surfaces.base import SimulatedCall, Surface
from apps.simulator.surfaces.gemini import GeminiSurface
from apps.simulator.surfaces.openai import OpenAISurface

SURFACES: tuple[Surface, ...] = (GeminiSurface(), AnthropicSurface(), OpenAISurface())


def surface_of(call: SimulatedCall) -> Surface:
    """Return the protocol that `call` speaks."""
    return next(surface for surface in SURFACES if surface.is_meant(call))
