"""Well-known providers and servers, to begin a worker with.

Only base URLs that speak the OpenAI-compatible protocol; models and prices change too
often to be listed.
"""

from __future__ import annotations

from apps.pools.models import MaxTokensField
from apps.pools.types import Preset

PRESETS: tuple[Preset, ...] = (
    Preset(
        id="openai",
        name="OpenAI",
        base_url="https://api.openai.com/v1",
        needs_key=True,
        hint="Keys: platform.openai.com, under API keys.",
        max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS,
    ),
    Preset(
        id="anthropic",
        name="Anthropic",
        base_url="https://api.anthropic.com/v1",
        needs_key=True,
        hint="Its OpenAI-compatible endpoint. Keys: console.anthropic.com.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="gemini",
        name="Google Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        needs_key=True,
        hint="Its OpenAI-compatible endpoint. Keys: aistudio.google.com.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="mistral",
        name="Mistral",
        base_url="https://api.mistral.ai/v1",
        needs_key=True,
        hint="Keys: console.mistral.ai.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="groq",
        name="Groq",
        base_url="https://api.groq.com/openai/v1",
        needs_key=True,
        hint="Keys: console.groq.com.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="together",
        name="Together AI",
        base_url="https://api.together.xyz/v1",
        needs_key=True,
        hint="Keys: api.together.ai, under settings.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="openrouter",
        name="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        needs_key=True,
        hint="Models are called like provider/model. Keys: openrouter.ai/keys.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="deepseek",
        name="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        needs_key=True,
        hint="Keys: platform.deepseek.com.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="fireworks",
        name="Fireworks AI",
        base_url="https://api.fireworks.ai/inference/v1",
        needs_key=True,
        hint="Models are called like accounts/fireworks/models/… Keys: fireworks.ai.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="xai",
        name="xAI",
        base_url="https://api.x.ai/v1",
        needs_key=True,
        hint="Keys: console.x.ai.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="vllm",
        name="vLLM (local)",
        base_url="http://127.0.0.1:8000/v1",
        needs_key=False,
        hint="The address of “vllm serve”; a key only if it was started with one.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
    Preset(
        id="ollama",
        name="Ollama (local)",
        base_url="http://127.0.0.1:11434/v1",
        needs_key=False,
        hint="Models are called as “ollama list” shows them, like qwen3:4b.",
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
)
"""Local ones need their network in MODEL_NETWORKS."""
