"""What verifiers say of an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether an answer is right."""

    is_right: bool
    why: str = ""
    """Why it is not right, in one sentence."""


RIGHT = Grade(True)
