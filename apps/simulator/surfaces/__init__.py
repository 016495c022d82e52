"""The wire protocols: how each reads a request and frames an answer."""

from __future__ import annotations

from apps.simulator.surfaces.base import Call, Surface
from apps.simulator.surfaces.openai import OpenAISurface

OPENAI = OpenAISurface()


def surface_of(call: Call) -> Surface:
    """Return the protocol that `call` speaks."""
    return OPENAI
