"""Tokens and money. Whole numbers only: tokens, micro-dollars (1 USD = 1,000,000)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What one call, or a sum of calls, used."""

    prompt_tokens: int = 0
    """Input tokens, cached ones included."""
    completion_tokens: int = 0
    """Output tokens, reasoning ones included."""
    cached_tokens: int = 0
    """The part of `prompt_tokens` the provider read from its cache."""
    reasoning_tokens: int = 0
    """The part of `completion_tokens` that was hidden reasoning."""
    is_estimated: bool = False
    """True if the provider gave no usage and we counted characters instead."""

    @property
    def total_tokens(self) -> int:
        """Return input plus output tokens."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.is_estimated or other.is_estimated,
        )


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model in micro-dollars per million tokens."""

    input_micros: int
    output_micros: int
    cached_input_micros: int | None = None
    """None: cached tokens cost as much as others."""

    def cost_micros(self, usage: Usage) -> int:
        """Return the cost of `usage` in micro-dollars, rounded up to a whole one."""
        cached_rate = (
            self.input_micros
            if self.cached_input_micros is None
            else self.cached_input_micros
        )
        fresh = usage.prompt_tokens - usage.cached_tokens
        exact = (
            fresh * self.input_micros
            + usage.cached_tokens * cached_rate
            + usage.completion_tokens * self.output_micros
        )
        return -(-exact // 1_000_000)


@dataclass(frozen=True, slots=True)
class Cost:
    """A sum of money of which a part may be unknown. Unknown is never zero."""

    micros: int = 0
    """The known part, in micro-dollars."""
    has_unknown: bool = False
    """True if at least one call had no known price."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.micros + other.micros, self.has_unknown or other.has_unknown)


def cost_of(usage: Usage, price: Price | None) -> Cost:
    """Return what `usage` costs at `price`; without a price the cost is unknown."""
    if price is None:
        return Cost(0, has_unknown=usage.total_tokens > 0)
    return Cost(price.cost_micros(usage))


CHARACTERS_PER_TOKEN = 3
"""A cautious average for estimates; English text has about 4."""
TOKENS_PER_MESSAGE = 8
"""Chat framing around each message."""
MOST_BYTES_PER_TOKEN = 6
"""More than ordinary text has: English has 4 to 5, code and other languages less."""


def estimate_tokens(*texts: str) -> int:
    """Estimate the input tokens of `texts`, one message each."""
    return sum(
        -(-len(text.encode()) // CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE
        for text in texts
    )


def least_tokens(text: str) -> int:
    """Return how many input tokens `text` will be at least."""
    return len(text.encode()) // MOST_BYTES_PER_TOKEN
