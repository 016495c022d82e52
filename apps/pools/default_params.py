"""Default parameters of a worker's calls, as columns of a row."""

from __future__ import annotations

from typing import Any

from django.db import models

MAX_BUDGET_TOKENS = 1_000_000
"""More thinking than any model allows."""


class ReasoningEffort(models.TextChoices):
    """How hard a model is to think, in the words of chat completions."""

    NONE = "none", "none"
    MINIMAL = "minimal", "minimal"
    LOW = "low", "low"
    MEDIUM = "medium", "medium"
    HIGH = "high", "high"
    XHIGH = "xhigh", "xhigh"
    MAX = "max", "max"


class DefaultParams(models.Model):
    """Parameters that not every model takes: which ones, and with what values."""

    extra_params = models.JSONField(default=list, blank=True)
    """Names of `apps.llm.types.EXTRA_PARAMS` that a request may set. Means something to
    the OpenAI-compatible protocol alone: the others take what they have words for."""
    reasoning_effort = models.CharField(
        max_length=16, choices=ReasoningEffort.choices, blank=True
    )
    """Empty, as with the two below: the server's own."""
    thinking_budget_tokens = models.PositiveIntegerField(null=True, blank=True)
    extra_body = models.JSONField(default=dict, blank=True)
    """Fields of the request's JSON body, sent as they are. Never a secret."""

    class Meta:
        abstract = True

    @property
    def default_params(self) -> dict[str, Any] | None:
        """Return the extra parameters of a call that brings none; None: no such."""
        found: dict[str, Any] = {}
        if self.reasoning_effort:
            found["reasoning_effort"] = str(self.reasoning_effort)
        if self.thinking_budget_tokens is not None:
            budget = self.thinking_budget_tokens
            found["thinking"] = {"type": "enabled", "budget_tokens": budget}
        return found or None
