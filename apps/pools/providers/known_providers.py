"""Well-known providers and servers, to begin a worker with and to tell its provider.

Each with the protocol its server knows best; models and prices change too often to be
listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from django.utils.translation import gettext_noop

from apps.pools.base_urls import host_of
from apps.pools.models import MaxTokensField, Protocol
from apps.pools.providers.cloud_addresses import (
    AZURE_URL,
    BEDROCK_URL,
    VERTEX_URL,
    cloud_of,
)
from apps.pools.types import KnownProvider
from apps.pools.value_types import PROVIDER

_PENALTIES = ("frequency_penalty", "logit_bias", "presence_penalty")
_SAMPLING = (*_PENALTIES, "min_p", "repetition_penalty", "top_k")
_OPENAI = (
    *_PENALTIES,
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "safety_identifier",
    "service_tier",
    "verbosity",
)
_OPENROUTER = (*_SAMPLING, "cache_control", "reasoning_effort", "verbosity")

KNOWN_PROVIDERS: tuple[KnownProvider, ...] = (
    KnownProvider(
        id="openai",
        name="OpenAI",
        protocol=Protocol.OPENAI,
        base_url="https://api.openai.com/v1",
        needs_key=True,
        hint=gettext_noop("Keys: platform.openai.com, under API keys."),
        max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS,
        extra_params=_OPENAI,
        key_form=r"sk-(?:proj|svcacct|admin)-[\w-]{20,300}|sk-[A-Za-z0-9]{48}",
    ),
    KnownProvider(
        id="anthropic",
        name="Anthropic",
        protocol=Protocol.ANTHROPIC,
        base_url="https://api.anthropic.com/v1",
        needs_key=True,
        hint=gettext_noop("Keys: console.anthropic.com."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"sk-ant-[\w-]{20,300}",
    ),
    KnownProvider(
        id="gemini",
        name="Google Gemini",
        protocol=Protocol.GEMINI,
        base_url="https://generativelanguage.googleapis.com/v1beta",
        needs_key=True,
        hint=gettext_noop("Keys: aistudio.google.com."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"AIza[\w-]{35}",
    ),
    KnownProvider(
        id="mistral",
        name="Mistral",
        protocol=Protocol.OPENAI,
        base_url="https://api.mistral.ai/v1",
        needs_key=True,
        hint=gettext_noop("Keys: console.mistral.ai."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"[A-Za-z0-9]{32}",
    ),
    KnownProvider(
        id="groq",
        name="Groq",
        protocol=Protocol.OPENAI,
        base_url="https://api.groq.com/openai/v1",
        needs_key=True,
        hint=gettext_noop("Keys: console.groq.com."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"gsk_[A-Za-z0-9]{40,80}",
    ),
    KnownProvider(
        id="together",
        name="Together AI",
        protocol=Protocol.OPENAI,
        base_url="https://api.together.xyz/v1",
        needs_key=True,
        hint=gettext_noop("Keys: api.together.ai, under settings."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"[0-9a-f]{64}|tgp_v1_[\w-]{20,100}",
    ),
    KnownProvider(
        id="openrouter",
        name="OpenRouter",
        protocol=Protocol.OPENAI,
        base_url="https://openrouter.ai/api/v1",
        needs_key=True,
        hint=gettext_noop(
            "Models are called like provider/model. Keys: openrouter.ai/keys."
        ),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        extra_params=_OPENROUTER,
        key_form=r"sk-or-[\w-]{20,300}",
    ),
    KnownProvider(
        id="azure",
        name="Azure OpenAI",
        protocol=Protocol.OPENAI,
        base_url=AZURE_URL,
        needs_key=True,
        hint=gettext_noop(
            "Models are called as your deployments. Keys: portal.azure.com, under Keys "
            "and Endpoint of the resource."
        ),
        max_tokens_field=MaxTokensField.MAX_COMPLETION_TOKENS,
        extra_params=_OPENAI,
        lists_models=False,
    ),
    KnownProvider(
        id="bedrock",
        name="Amazon Bedrock",
        protocol=Protocol.OPENAI,
        base_url=BEDROCK_URL,
        needs_key=True,
        hint=gettext_noop(
            "Write your region into the address. Models are called like "
            "openai.gpt-oss-120b-1:0. Keys: the Bedrock console, under API keys."
        ),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        lists_models=False,
    ),
    KnownProvider(
        id="vertex",
        name="Google Vertex AI",
        protocol=Protocol.OPENAI,
        base_url=VERTEX_URL,
        needs_key=True,
        hint=gettext_noop(
            "Models are called like google/gemini-2.5-pro. The key is the JSON file of "
            "a service account with the role Vertex AI User, pasted as it is."
        ),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        lists_models=False,
    ),
    KnownProvider(
        id="deepseek",
        name="DeepSeek",
        protocol=Protocol.OPENAI,
        base_url="https://api.deepseek.com/v1",
        needs_key=True,
        hint=gettext_noop("Keys: platform.deepseek.com."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"sk-[0-9a-f]{32}",
    ),
    KnownProvider(
        id="fireworks",
        name="Fireworks AI",
        protocol=Protocol.OPENAI,
        base_url="https://api.fireworks.ai/inference/v1",
        needs_key=True,
        hint=gettext_noop(
            "Models are called like accounts/fireworks/models/… Keys: fireworks.ai."
        ),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"fw_[A-Za-z0-9]{20,80}",
    ),
    KnownProvider(
        id="xai",
        name="xAI",
        protocol=Protocol.OPENAI,
        base_url="https://api.x.ai/v1",
        needs_key=True,
        hint=gettext_noop("Keys: console.x.ai."),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        key_form=r"xai-[A-Za-z0-9]{40,120}",
    ),
    KnownProvider(
        id="vllm",
        name="vLLM (local)",
        protocol=Protocol.OPENAI,
        base_url="http://127.0.0.1:8000/v1",
        needs_key=False,
        hint=gettext_noop(
            "The address of “vllm serve”; a key only if it was started with one."
        ),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
        extra_params=(*_SAMPLING, "chat_template_kwargs", "reasoning_effort"),
    ),
    KnownProvider(
        id="ollama",
        name="Ollama (local)",
        protocol=Protocol.OPENAI,
        base_url="http://127.0.0.1:11434/v1",
        needs_key=False,
        hint=gettext_noop(
            "Models are called as “ollama list” shows them, like qwen3:4b."
        ),
        max_tokens_field=MaxTokensField.MAX_TOKENS,
    ),
)
"""Local ones need their network in MODEL_NETWORKS."""
_HOSTS = {host_of(each.base_url): each.id for each in KNOWN_PROVIDERS if each.needs_key}
"""Providers by host. A local server's address says nothing of what runs there."""


def provider_of_key(key: str) -> KnownProvider | None:
    """Return the provider whose keys look like this one; None: several do, or none."""
    fits = [p for p in KNOWN_PROVIDERS if p.key_form and re.fullmatch(p.key_form, key)]
    return fits[0] if len(fits) == 1 else None


def policy_tags(tags: Iterable[str], base_url: str) -> frozenset[str]:
    """Return all tags that rules know a worker by: those given to it, its provider."""
    host = host_of(base_url)
    # Of a cloud the host counts as well: a rule may mean one resource or region.
    of_host = (f"{PROVIDER}:{host}",) if cloud_of(host) else ()
    return frozenset((*tags, provider_tag(base_url), *of_host))


@lru_cache(maxsize=1_000)
def provider_tag(base_url: str) -> str:
    """Return the tag of the provider at an address, like `provider:openai`.

    Hosts below that of a known provider are its own; any other host stands for itself.
    """
    host = host_of(base_url)
    known = (name for of, name in _HOSTS.items() if f".{host}".endswith(f".{of}"))
    return f"{PROVIDER}:{cloud_of(host) or next(known, host)}"
