"""The data card of an export, in Markdown: what it holds, and what it lacks. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from apps.training.export.step_rows import COLUMNS
from apps.training.learning_data.tally import LearningTally
from apps.training.learning_data.weights import LEAST_RUNS, USUAL_BOUND, VERIFIED_BOUND

NONE = "(none)"
BESIDE = str.maketrans({"|": "\\|", "\n": " ", "\r": " ", "<": "&lt;", "`": "'"})
"""Characters of names that would end a cell of a table, or begin something else."""


@dataclass(frozen=True, slots=True)
class CardFacts:
    """What the card says beside the counts."""

    team: str
    pool: str
    has_consent: bool
    made_at: datetime


def card_written(facts: CardFacts, tally: LearningTally) -> str:
    """Return the card of an export with these counts."""
    parts = [
        f"# Learning data of {_cell(facts.team)}",
        f"What planners of the pool {_cell(facts.pool)} learn from, made "
        f"{_time(facts.made_at)}. One row is one step of a run.",
        _summary(tally),
        "## Consent\n\n" + _consent(facts.has_consent),
        "## Runs by source\n\n" + _table("source", "runs", tally.by_source),
        "## Runs by family\n\n" + _table("family", "runs", tally.by_family),
        "## Steps by worker\n\n" + _table("worker", "steps", tally.by_worker),
        "## Columns\n\n" + _columns(),
        "## What is missing\n\n" + _missing(tally),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(tally: LearningTally) -> str:
    lines = [
        f"- Runs: {tally.runs:,}, with a weight of {tally.weight:,.1f}",
        f"- Steps: {tally.steps:,}, of which {tally.graded_steps:,} have a grade",
        f"- Requests that tried a plan near the best one: {tally.explored:,}",
        f"- Digest of the data: SHA-256 `{tally.digest}`",
    ]
    if tally.first_at and tally.last_at:
        lines.insert(
            1, f"- Runs began from {_time(tally.first_at)} to {_time(tally.last_at)}"
        )
    return "\n".join(lines)


def _consent(has_consent: bool) -> str:
    if not has_consent:
        return (
            "Evaluations of the team alone. It has not allowed planners to learn from "
            "what people and API keys ask, so no such run is here."
        )
    usual, verified = USUAL_BOUND, VERIFIED_BOUND
    return (
        "Evaluations of the team, and rated, verified or reviewed runs of its people "
        "and API keys, which it has allowed. One person or key has the weight of "
        f"{usual.runs:.0f} runs and {usual.share:.0%} of the whole at most, but always "
        f"that of {LEAST_RUNS:.0f} run. Where the team trusts verifiers, the runs that "
        f"one key verified have that of {verified.runs:.0f} runs and "
        f"{verified.share:.0%} of the whole at most."
    )


def _table(what: str, number: str, counts: Counter[str]) -> str:
    rows = [
        f"| {_cell(name) or NONE} | {count:,} |"
        for name, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]
    return "\n".join([f"| {what} | {number} |", "|---|---:|", *rows])


def _columns() -> str:
    rows = [f"| `{name}` | {meaning} |" for name, meaning in COLUMNS.items()]
    return "\n".join(["| column | meaning |", "|---|---|", *rows])


def _missing(tally: LearningTally) -> str:
    without = tally.steps - tally.graded_steps
    return (
        f"{without:,} steps have no grade: those that plan, that failed or were "
        "skipped, and those before the last one whose answers a model would have to "
        "judge. Answers are not here. Neither are held-out tasks, on which planners "
        "are measured, runs without a grade, runs with reused answers, and runs whose "
        "texts have been erased, by retention or otherwise. What is erased later stays "
        "in this copy: delete it in time."
    )


def _time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _cell(text: str) -> str:
    return text.translate(BESIDE)
