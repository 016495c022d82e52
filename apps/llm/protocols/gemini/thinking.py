"""Translates the reasoning effort for Gemini models.

Gemini 2.5 thinks within a budget of tokens, later models on a level; those take a
budget as well, but never both. Earlier ones, and other models, take neither.
Source: Gemini API documentation, "Gemini thinking", "OpenAI compatibility".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apps.llm.protocols.extra_params import EFFORT, THINKING

_VERSION = re.compile(r"(?:^|/)gemini-(\d+)(?:\.(\d+))?")
_LATEST = re.compile(r"(?:^|/)gemini-[a-z]")
"""Names like `gemini-flash-latest`."""
THINKS_FROM = (2, 5)
LEVELS_FROM = (3, 0)
BUDGETS = {
    "none": 0,
    "minimal": 1024,
    "low": 1024,
    "medium": 8192,
    "high": 24_576,
    "xhigh": 24_576,
    "max": 24_576,
}
"""Tokens of thinking by effort."""
AS_IT_LIKES = -1
"""A budget that leaves the amount to the model."""
_LEVELS = {
    "none": "minimal",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
_LARGE = {"minimal": "low", "medium": "high"}
"""Larger models know two levels."""


def thinks(model: str) -> bool:
    """Return True if a model takes a reasoning effort."""
    return _version(model) >= THINKS_FROM


def thinking_config(model: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `thinkingConfig` that extra parameters ask for; empty: none."""
    effort, wish = extra.get(EFFORT), extra.get(THINKING)
    if not (effort or wish) or not thinks(model):
        return {}
    if wish is not None:
        effort = _effort_of(wish, effort)
    has_levels = _version(model) >= LEVELS_FROM
    if wish is not None and "budget_tokens" in wish:
        return {"thinkingBudget": wish["budget_tokens"]}
    if effort is None:
        return {} if has_levels else {"thinkingBudget": AS_IT_LIKES}
    if not has_levels:
        return {"thinkingBudget": BUDGETS[effort]}
    level = _LEVELS[effort]
    return {"thinkingLevel": level if "flash" in model else _LARGE.get(level, level)}


def _effort_of(wish: Mapping[str, Any], effort: str | None) -> str | None:
    return "none" if wish["type"] == "disabled" else effort


def _version(model: str) -> tuple[int, int]:
    found = _VERSION.search(model)
    if found is not None:
        return int(found[1]), int(found[2] or 0)
    return LEVELS_FROM if _LATEST.search(model) else (0, 0)
