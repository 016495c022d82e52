"""How models' servers are spoken to, as choices of rows."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_noop


class MaxTokensField(models.TextChoices):
    """How a server wants the output limit to be called."""

    MAX_TOKENS = "max_tokens", "max_tokens"
    """What most servers understand."""
    MAX_COMPLETION_TOKENS = "max_completion_tokens", "max_completion_tokens"
    """What OpenAI's reasoning models insist on."""


class Protocol(models.TextChoices):
    """The wire protocol a model's server speaks."""

    OPENAI = "openai", gettext_noop("OpenAI-compatible")
    """Chat completions, as OpenAI, vLLM, Ollama and most others serve them."""
    ANTHROPIC = "anthropic", "Anthropic"
    """The messages method, as Anthropic serves it."""
    GEMINI = "gemini", "Google Gemini"
    """generateContent, as Google serves it."""
