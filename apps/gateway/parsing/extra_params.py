"""Reads the parameters that not every model takes, in the words of chat completions.

What is read here is of the right type and within bounds, whatever becomes of it:
`CallParams.extra` carries it to the step that answers, and each worker gets what it
takes. A request without any of these fields costs one look at its names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from apps.core.errors import InvalidInput
from apps.engine.extra_params import CACHE_CONTROL
from apps.engine.ports import CallParams
from apps.gateway.parsing.json_fields import (
    check_size,
    read_integer,
    read_number,
    read_object,
    read_text,
    type_error,
)
from apps.pools.models import ReasoningEffort

Reader = Callable[[Mapping[str, Any], str], Any]
EFFORTS = tuple(effort.value for effort in ReasoningEffort)
VERBOSITIES = ("low", "medium", "high")
SERVICE_TIERS = (
    "auto",
    "default",
    "flex",
    "on_demand",
    "performance",
    "priority",
    "scale",
    "standard_only",
)
RETENTIONS = ("in_memory", "in-memory", "24h")
THINKING_KINDS = ("enabled", "disabled", "adaptive")
CACHE_LIFETIMES = ("5m", "1h")
MAX_BIAS = 100
MAX_BIASES = 2_000
"""Tokens of one `logit_bias`."""
MAX_OBJECT_BYTES = 16_000
MAX_NAME = 256
MAX_TOP_K = 1_000_000
MAX_BUDGET = 1_000_000
OUTPUT_FIELDS = frozenset({"audio", "modalities", "web_search_options"})
TOKEN_ID = re.compile(r"\d{1,9}")


def read_extra_params(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the extra parameters of a request; None: it has none.

    Raises: InvalidInput naming the field at fault.
    """
    if EXTRA_FIELDS.isdisjoint(body):
        return None
    found = {
        name: read(body, name)
        for name, read in _READERS.items()
        if body.get(name) is not None
    }
    return found or None


def with_cache_marks(params: CallParams) -> CallParams:
    """Return the parameters of a request whose messages hold cache marks."""
    return replace(params, extra={CACHE_CONTROL: True, **(params.extra or {})})


def refuse_other_outputs(body: Mapping[str, Any]) -> None:
    """Refuse what would make the answer something other than text.

    Raises: InvalidInput.
    """
    if OUTPUT_FIELDS.isdisjoint(body):
        return
    modalities = body.get("modalities")
    if modalities is not None and modalities != ["text"]:
        raise InvalidInput('modalities: only ["text"] is supported', param="modalities")
    if body.get("audio") is not None:
        raise InvalidInput("audio: audio is not supported", param="audio")
    if body.get("web_search_options") is not None:
        raise InvalidInput(
            "web_search_options: searching the web is not supported",
            param="web_search_options",
        )


def read_cache_control(given: Mapping[str, Any], *, at: str = "") -> dict[str, Any]:
    """Return the field `cache_control`, which must be there. Raises: InvalidInput."""
    where = at + CACHE_CONTROL
    mark = read_object(given, CACHE_CONTROL, at=at) or {}
    if mark.get("type") != "ephemeral":
        raise InvalidInput(
            f'{where}.type: only "ephemeral" is supported', param=f"{where}.type"
        )
    lifetime = mark.get("ttl")
    if lifetime is None:
        return {"type": "ephemeral"}
    if lifetime not in CACHE_LIFETIMES:
        raise _not_one_of(f"{where}.ttl", CACHE_LIFETIMES)
    return {"type": "ephemeral", "ttl": lifetime}


def read_word(
    body: Mapping[str, Any], name: str, known: tuple[str, ...], *, at: str = ""
) -> str:
    """Return a text that must be one of `known`. Raises: InvalidInput."""
    word = body.get(name)
    if not isinstance(word, str) or word not in known:
        raise _not_one_of(at + name, known)
    return word


def _not_one_of(where: str, known: tuple[str, ...]) -> InvalidInput:
    return InvalidInput(f"{where}: expected one of {', '.join(known)}", param=where)


def _word(*known: str) -> Reader:
    return lambda body, name: read_word(body, name, known)


def _number(low: float, high: float) -> Reader:
    return lambda body, name: read_number(body, name, low, high)


def _whole(low: int, high: int) -> Reader:
    return lambda body, name: read_integer(body, name, low, high)


def _name(body: Mapping[str, Any], name: str) -> str:
    text = read_text(body, name)
    if not 0 < len(text) <= MAX_NAME or not text.isprintable():
        raise InvalidInput(
            f"{name}: expected 1 to {MAX_NAME} characters on one line", param=name
        )
    return text


def _logit_bias(body: Mapping[str, Any], name: str) -> dict[str, float]:
    given = read_object(body, name) or {}
    if len(given) > MAX_BIASES:
        raise InvalidInput(
            f"{name}: {len(given)} tokens, at most {MAX_BIASES} are allowed", param=name
        )
    for token, bias in given.items():
        if not TOKEN_ID.fullmatch(token):
            raise InvalidInput(
                f"{name}: {token[:40]!r} is no number of a token", param=name
            )
        if isinstance(bias, bool) or not isinstance(bias, int | float):
            raise type_error(f"{name}.{token}", "a number", bias)
        if not -MAX_BIAS <= bias <= MAX_BIAS:
            raise InvalidInput(
                f"{name}.{token}: {bias} is not between {-MAX_BIAS} and {MAX_BIAS}",
                param=f"{name}.{token}",
            )
    return given


def _object(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = read_object(body, name) or {}
    check_size(given, MAX_OBJECT_BYTES, name)
    return given


def _thinking(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = read_object(body, name) or {}
    kind = read_word(given, "type", THINKING_KINDS, at=f"{name}.")
    found: dict[str, Any] = {"type": kind}
    budget = read_integer(given, "budget_tokens", 1, MAX_BUDGET, at=f"{name}.")
    if budget is not None and kind != "enabled":
        raise InvalidInput(
            f'{name}.budget_tokens: only with the type "enabled"',
            param=f"{name}.budget_tokens",
        )
    if budget is not None:
        found["budget_tokens"] = budget
    return found


_READERS: dict[str, Reader] = {
    CACHE_CONTROL: lambda body, _: read_cache_control(body),
    "chat_template_kwargs": _object,
    "frequency_penalty": _number(-2, 2),
    "logit_bias": _logit_bias,
    "min_p": _number(0, 1),
    "presence_penalty": _number(-2, 2),
    "prompt_cache_key": _name,
    "prompt_cache_retention": _word(*RETENTIONS),
    "reasoning_effort": _word(*EFFORTS),
    "repetition_penalty": _number(0, 2),
    "safety_identifier": _name,
    "service_tier": _word(*SERVICE_TIERS),
    "thinking": _thinking,
    "top_k": _whole(-1, MAX_TOP_K),
    "verbosity": _word(*VERBOSITIES),
}
EXTRA_FIELDS = frozenset(_READERS)
