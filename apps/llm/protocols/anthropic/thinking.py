"""Translates the reasoning effort for Claude models.

Claude 3.7 to 4.5 think within a budget of tokens, from 4.6 on they adapt to an effort;
4.7 and later refuse budgets. A model of another name behind this protocol gets a
budget. Thinking is left out where the protocol refuses it: beside a tool that must be
called, to go on from a partial answer, and with a budget also after tools' results,
because thoughts do not travel through chat completions.
Source: Anthropic API documentation, "Extended thinking", "Adaptive thinking", "Effort".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.llm.protocols.extra_params import EFFORT, THINKING

Version = tuple[int, int]
_CLAUDE = re.compile(r"\bclaude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2})(?!\d))?")
"""Major and minor version in a name: `claude-3-5-sonnet-…`, `claude-opus-4-7`. What
follows in more digits is a date."""
THINKS_FROM: Version = (3, 7)
ADAPTS_FROM: Version = (4, 6)
NO_BUDGET_FROM: Version = (4, 7)
MIN_BUDGET = 1024
"""The protocol's own."""
BUDGETS = {
    "minimal": MIN_BUDGET,
    "low": 2048,
    "medium": 8192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_000,
}
"""Tokens of thinking by effort, for models that know budgets alone."""
SHARE = 0.8
"""Of the tokens a caller allows; the rest is for the answer."""
_OLDER_EFFORTS = {"minimal": "low", "xhigh": "max"}
_EFFORTS = {"minimal": "low"}


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a request says about thinking."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 0
    """Tokens of thinking among those of the answer; 0: not set, or none."""
    is_on: bool = False
    """True: the protocol refuses `temperature` and `top_k` beside it."""


NO_THINKING = Thinking()


def version_of(model: str) -> Version | None:
    """Return the version of a Claude; None for other names."""
    found = _CLAUDE.search(model)
    return None if found is None else (int(found[1]), int(found[2] or 0))


def thinks(model: str) -> bool:
    """Return True if a model takes a reasoning effort."""
    version = version_of(model)
    return version is None or version >= THINKS_FROM


def read_thinking(
    model: str,
    extra: Mapping[str, Any],
    max_tokens: int | None,
    *,
    is_forced: bool,
    follows_tools: bool,
) -> Thinking:
    """Return what to say about thinking.

    `is_forced`: the answer's form or beginning is given. `follows_tools`: results of
    tools come last. `max_tokens` None: the caller set no limit.
    """
    effort, wish = extra.get(EFFORT), extra.get(THINKING)
    if not (effort or wish) or not thinks(model):
        return NO_THINKING
    version = version_of(model)
    adapts = version is not None and version >= ADAPTS_FROM
    said = _effort(version, effort) if version is not None and adapts else {}
    if wish and wish["type"] == "disabled":
        return Thinking({**said, THINKING: {"type": "disabled"}})
    if is_forced or (wish is None and effort == "none"):
        return Thinking(said)  # without being asked to it does not think
    if not adapts or _wants_budget(version, wish, follows_tools=follows_tools):
        if follows_tools:
            return NO_THINKING
        return _budgeted(_budget(effort, wish), max_tokens, said)
    adaptive = {**(wish or {}), "type": "adaptive"}
    adaptive.pop("budget_tokens", None)
    return Thinking({**said, THINKING: adaptive}, is_on=True)


def _effort(version: Version, effort: str | None) -> dict[str, Any]:
    if effort is None or effort == "none":
        return {}
    words = _EFFORTS if version >= NO_BUDGET_FROM else _OLDER_EFFORTS
    return {"output_config": {"effort": words.get(effort, effort)}}


def _wants_budget(
    version: Version | None, wish: Mapping[str, Any] | None, *, follows_tools: bool
) -> bool:
    """Say whether a model that can adapt is to keep to a budget all the same."""
    if wish is None or wish["type"] != "enabled" or follows_tools:
        return False
    return version is not None and version < NO_BUDGET_FROM


def _budget(effort: str | None, wish: Mapping[str, Any] | None) -> int:
    if wish and "budget_tokens" in wish:
        return int(wish["budget_tokens"])
    if effort is None:
        return BUDGETS["medium"]
    return BUDGETS.get(effort, 0)


def _budgeted(budget: int, max_tokens: int | None, said: Mapping[str, Any]) -> Thinking:
    if max_tokens is not None:
        budget = min(budget, int(max_tokens * SHARE))
    if budget < MIN_BUDGET:
        return Thinking(said)
    wish = {"type": "enabled", "budget_tokens": budget}
    return Thinking({**said, THINKING: wish}, budget, is_on=True)
