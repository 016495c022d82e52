"""The protocol objects by name."""

from __future__ import annotations

from collections.abc import Mapping

from apps.llm.protocols.anthropic.protocol import Anthropic
from apps.llm.protocols.base import WireProtocol
from apps.llm.protocols.gemini.protocol import Gemini
from apps.llm.protocols.openai.protocol import OpenAi
from apps.llm.types import Endpoint, Protocol

PROTOCOLS: Mapping[Protocol, WireProtocol] = {
    "openai": OpenAi(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
}


def protocol_of(endpoint: Endpoint) -> WireProtocol:
    """Return what speaks to `endpoint`."""
    return PROTOCOLS[endpoint.protocol]


def extra_params_of(endpoint: Endpoint) -> frozenset[str] | None:
    """Return the extra parameters that have a form for this endpoint; None: any."""
    return protocol_of(endpoint).extra_params(endpoint.model)
