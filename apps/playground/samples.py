"""Prompts to try first. Each shows another kind of plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt with a short name for its button."""

    label: str
    prompt: str


SAMPLES = (
    Sample("A sum", "What is 17 × 23 + 4? Show the steps and check the result."),
    Sample(
        "Compare and recommend",
        "Compare PostgreSQL and SQLite for an internal tool used by a team of ten. "
        "Weigh operations, backups and concurrent writes, then recommend one.",
    ),
    Sample(
        "Code with tests",
        "Write a Python function that merges overlapping intervals, then test it "
        "against the edge cases.",
    ),
    Sample(
        "Review a draft",
        "Draft a short incident report for a 20-minute outage of the login page, then "
        "have it reviewed for blame and unclear wording, and give the final text.",
    ),
)

SIMULATED_SAMPLES = (
    Sample("A calculation", "What is 17 * 23 + 4?"),
    Sample("Two questions", "What is 12*12, and what is the capital of Italy?"),
    Sample("Code", "Write a Python function that returns the nth Fibonacci number"),
    Sample("A date", "How many days are between 2024-01-15 and 2024-03-01?"),
)
"""What simulated workers can answer: one plan of each shape."""
