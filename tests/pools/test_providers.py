"""The tag of a provider follows from the address, and nobody can claim another."""

from __future__ import annotations

import pytest

from apps.core.errors import InvalidFields
from apps.core.input_parts import values_read
from apps.pools.attributes import WorkerAttributes
from apps.pools.providers.known_providers import (
    KNOWN_PROVIDERS,
    policy_tags,
    provider_tag,
)


@pytest.mark.parametrize(
    ("base_url", "tag"),
    [
        ("https://api.openai.com/v1", "provider:openai"),
        ("https://API.OpenAI.com.:443/v1", "provider:openai"),
        ("https://eu.api.openai.com/v1", "provider:openai"),
        ("https://openrouter.ai/api/v1", "provider:openrouter"),
        ("https://notapi.openai.com.example/v1", "provider:notapi.openai.com.example"),
        ("https://myapi.openai.com/v1", "provider:myapi.openai.com"),
        ("http://127.0.0.1:11434/v1", "provider:127.0.0.1"),
        ("http://[::1]:8000/v1", "provider:::1"),
    ],
)
def test_a_provider_is_that_of_the_host(base_url: str, tag: str) -> None:
    assert provider_tag(base_url) == tag


def test_every_public_provider_is_a_provider_of_its_own_name() -> None:
    public = [each for each in KNOWN_PROVIDERS if each.needs_key]
    found = [provider_tag(each.base_url) for each in public]
    assert found == [f"provider:{each.id}" for each in public]


def test_a_provider_stands_beside_the_tags_that_were_given() -> None:
    found = policy_tags(["eu"], "https://api.openai.com/v1")
    assert found == {"eu", "provider:openai"}


@pytest.mark.parametrize("tag", ["provider:mistral", "PROVIDER:x"])
def test_a_provider_cannot_be_typed(tag: str) -> None:
    with pytest.raises(InvalidFields) as caught:
        values_read(WorkerAttributes, {"tags": ["eu", tag]})
    assert "follow from the worker's address" in caught.value.fields["tags[1]"][0]
