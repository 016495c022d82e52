"""Facts by which clients choose models and cut conversations, named as by OpenRouter.

Of a tier: the context is that of its roomiest worker, because a step goes to one that
has room; the longest answer is what each worker may write; a parameter is supported if
every worker takes it, images and tools if any does, because plans name those. What a
plan will cost is unknown before there is one, so the price is the highest that a token
can have: with the usage of an answer, the sum of all calls, no answer costs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from apps.llm.protocols.registry import PROTOCOLS
from apps.llm.types import EXTRA_PARAMS
from apps.pools.models import Conductor, Price, Worker, WorkerKind
from apps.pools.selectors import price_in_force, protocol_of

PARAMETERS = (
    "max_completion_tokens",
    "max_tokens",
    "response_format",
    "seed",
    "stop",
    "structured_outputs",
    "temperature",
    "top_p",
)
TOOL_PARAMETERS = ("parallel_tool_calls", "tool_choice", "tools")
EMBEDDING_PARAMETERS = ("dimensions", "encoding_format")
MICROS_PER_MILLION = Decimal(10) ** 12
"""Micro-dollars per million tokens in a dollar per token."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of one model name."""

    context_length: int | None
    """Input and output together. None: unknown."""
    max_output_tokens: int | None
    takes_images: bool
    parameters: tuple[str, ...]
    pricing: dict[str, str] | None = None
    """Dollars per token: of a worker exactly, of a tier at most. None: unknown."""
    output: str = "text"
    """What it makes: text or embeddings."""

    def document(self) -> dict[str, Any]:
        """Return the fields of a model's document."""
        inputs = ["text", *(["image"] if self.takes_images else ())]
        return {
            "context_length": self.context_length,
            "max_output_tokens": self.max_output_tokens,
            "pricing": self.pricing,
            "architecture": {
                "modality": f"{'+'.join(inputs)}->{self.output}",
                "input_modalities": inputs,
                "output_modalities": [self.output],
            },
            "supported_parameters": list(self.parameters),
            "top_provider": {
                "context_length": self.context_length,
                "max_completion_tokens": self.max_output_tokens,
                "is_moderated": False,
            },
        }


def facts_of_worker(worker: Worker) -> ModelFacts:
    """Return what is known of a worker that is called directly."""
    pricing = _pricing(price_in_force(worker.prices.all()))
    if worker.kind == WorkerKind.EMBEDDING:
        return ModelFacts(
            worker.context_tokens,
            None,
            takes_images=False,
            parameters=EMBEDDING_PARAMETERS,
            pricing=pricing,
            output="embeddings",
        )
    return ModelFacts(
        worker.context_tokens,
        worker.max_output_tokens,
        worker.accepts_images,
        _parameters(_extra(worker, is_direct=True), has_tools=worker.accepts_tools),
        pricing,
    )


def facts_of_tier(workers: Sequence[Worker], conductor: Conductor | None) -> ModelFacts:
    """Return what is known of a tier of these workers, of which there is one at least.

    `conductor`: what plans for it; None: no model does. Without the tier's own limits:
    they bind a run, not what a model can take.
    """
    contexts = [w.context_tokens for w in workers if w.context_tokens is not None]
    shared = set.intersection(*(set(_extra(w, is_direct=False)) for w in workers))
    return ModelFacts(
        max(contexts, default=None),
        min(w.max_output_tokens for w in workers),
        any(w.accepts_images for w in workers),
        _parameters(shared, has_tools=any(w.accepts_tools for w in workers)),
        _highest([*workers, conductor] if conductor else workers),
    )


def _extra(worker: Worker, *, is_direct: bool) -> Iterable[str]:
    taken = PROTOCOLS[protocol_of(worker.protocol)].extra_params(worker.model)
    if taken is not None:
        return taken
    return EXTRA_PARAMS if is_direct else worker.extra_params


def _parameters(extra: Iterable[str], *, has_tools: bool) -> tuple[str, ...]:
    tools = TOOL_PARAMETERS if has_tools else ()
    return tuple(sorted({*PARAMETERS, *tools, *extra}))


def _pricing(price: Price | None) -> dict[str, str] | None:
    if price is None:
        return None
    pricing = {
        "prompt": _dollars(price.input_micros),
        "completion": _dollars(price.output_micros),
    }
    if price.cached_input_micros is not None:
        pricing["input_cache_read"] = _dollars(price.cached_input_micros)
    return pricing


def _highest(models: Sequence[Worker | Conductor]) -> dict[str, str] | None:
    """Return the most that a token of these models costs; None if one is unknown."""
    prices = [price_in_force(model.prices.all()) for model in models]
    known = [price for price in prices if price is not None]
    if len(known) < len(models):
        return None
    return {
        "prompt": _dollars(max(price.input_micros for price in known)),
        "completion": _dollars(max(price.output_micros for price in known)),
    }


def _dollars(micros_per_million: int) -> str:
    return f"{(micros_per_million / MICROS_PER_MILLION).normalize():f}"
