"""Problems of requests and servers, before a protocol words them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """The kinds of errors; each surface has its own status and words for them."""

    BAD_REQUEST = auto()
    CONTEXT_LENGTH = auto()
    """The input is longer than the model's context."""
    CONTENT_FILTER = auto()
    """A policy refuses the content."""
    UNAUTHORIZED = auto()
    FORBIDDEN = auto()
    QUOTA = auto()
    """Nothing is left to pay with."""
    NOT_FOUND = auto()
    """No such address."""
    NO_MODEL = auto()
    METHOD = auto()
    TOO_LARGE = auto()
    RATE_LIMITED = auto()
    SERVER = auto()
    OVERLOADED = auto()


@dataclass(frozen=True, slots=True)
class Problem:
    """One error. The counts are for `CONTEXT_LENGTH` alone."""

    kind: Kind
    message: str = ""
    param: str | None = None
    found_tokens: int = 0
    most_tokens: int = 0


RETRY_AFTER_S = 1
"""What a rate limit asks to wait."""
