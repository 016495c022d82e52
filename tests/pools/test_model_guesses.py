"""Which of a provider's models are recommended."""

from __future__ import annotations

import pytest

from apps.pools.model_guesses import recommended_models

ELSEWHERE = "http://127.0.0.1:8000/v1"
"""No list has prices of this address."""


@pytest.mark.parametrize(
    ("models", "best"),
    [
        (
            ["gpt-4o", "gpt-5-mini", "gpt-5-2025-08-07", "gpt-5-pro", "gpt-4.1", "o3"],
            ["gpt-5-2025-08-07", "gpt-4.1", "gpt-4o"],
        ),
        (["gpt-5.9", "gpt-5.10"], ["gpt-5.10", "gpt-5.9"]),
        (
            ["claude-haiku-4-5", "claude-3-opus-20240229", "claude-sonnet-4-5"],
            ["claude-sonnet-4-5", "claude-3-opus-20240229", "claude-haiku-4-5"],
        ),
        (
            [
                "gemini-2.5-flash",
                "gemini-2.5-pro",
                "gemini-2.5-pro-tts",
                "gemini-3-pro",
            ],
            ["gemini-3-pro", "gemini-2.5-pro", "gemini-2.5-flash"],
        ),
        (
            ["bench-a", "my-conductor", "your-conductor", "bench-b"],
            ["my-conductor", "bench-a", "bench-b"],
        ),
        (
            ["abc/huge-9", "openai/gpt-5", "anthropic/claude-opus-4.1", "qwen/qwen-8b"],
            ["openai/gpt-5", "anthropic/claude-opus-4.1", "abc/huge-9"],
        ),
        (["text-embedding-3-large", "mixtral-8x7b"], ["mixtral-8x7b"]),
    ],
)
def test_newest_large_models_are_recommended(models, best):
    assert recommended_models(ELSEWHERE, models) == best


def test_of_equal_versions_the_dearer_one_by_list_price_is_better():
    base_url = "https://api.anthropic.com/v1"
    models = ["claude-sonnet-4-5", "claude-opus-4-5"]
    assert recommended_models(base_url, models)[0] == "claude-opus-4-5"
