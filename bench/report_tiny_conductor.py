"""Section of bench/RESULTS.md on the conductor that ships."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench.figures import kept
from bench.markdown import section, target
from bench.report_conductors import LEAST, VALID
from bench.report_learning import MIXTURE, ORACLE, POOL_WORDS, REFLECTION

Rows = Sequence[dict[str, Any]]
RULES = ("best single worker", MIXTURE, REFLECTION, "best worker per family", ORACLE)
MANY = "5,000 runs"
SLOWEST_MS = 50


def tiny_conductor() -> str:
    """Return the section, empty if nothing was measured."""
    found = kept("tiny_conductor")
    if found is None:
        return ""
    about = (
        "`tiny-conductor` on the simulated benchmark, asked by the product's planner "
        f"about {found['held_out']} questions, with the cards of light planners that "
        "it was not fitted on; exact scores, and a reply that is no valid plan is "
        "wrong. A round is a light planner with logged runs of its own: means, and "
        "the worst in brackets. *Two not measured*: of six, by chance; 1,600 runs. "
        "*Skills exchanged*: each worker has the name and price of another, by "
        "chance; 1,600 runs. CPU time of a plan on one thread, median and 95th "
        f"percentile. SHA-256 of the file: `{found['weights']}`. "
    )
    return section(
        "The conductor that ships", about, _rows(found), _goals(found), found
    )


def _rows(found: dict[str, Any]) -> list[list[str]]:
    head = ["Pool", "cards, or a plan by rule", "right", "light planner itself"]
    rows = [[*head, "valid", "micro-dollars", "a plan, ms", "tokens read, written"]]
    for pool, words in POOL_WORDS.items():
        for name in RULES:
            row = found["baselines"][pool][name]
            cost = f"{row['cost_micros']:,.0f}"
            rows.append([words, name, f"{row['success']:.3f}", "", "", cost, "", ""])
        rows += [
            [words, name, *_figures(seeds)]
            for name, seeds in found["cards"][pool].items()
        ]
    return rows


def _figures(seeds: Rows) -> list[str]:
    teachers = [row["teacher"] for row in seeds if "teacher" in row]
    times = (_mean([row["plan_ms"][place] for row in seeds]) for place in (0, 1))
    tokens = (
        _mean([row[name] for row in seeds]) for name in ("prompt_tokens", "new_tokens")
    )
    return [
        _success(seeds),
        _success(teachers) if teachers else "",
        f"{min(row['valid'] for row in seeds):.3f}",
        f"{_mean([row['cost_micros'] for row in seeds]):,.0f}",
        ", ".join(f"{ms:.0f}" for ms in times),
        ", ".join(f"{count:.0f}" for count in tokens),
    ]


def _success(rows: Rows) -> str:
    found = [row["success"] for row in rows]
    return f"{_mean(found):.3f} ({min(found):.3f})"


def _goals(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the targets: of the worst light planner, and of all cards."""
    goals = []
    for pool, words in POOL_WORDS.items():
        cards = found["cards"][pool]
        worst = min(row["success"] for row in cards[MANY])
        every = [row for rows in cards.values() for row in rows]
        valid = min(row["valid"] for row in every)
        slowest = max(row["plan_ms"][1] for row in every)
        goals += [
            target(f"right, {words}, {MANY}", worst, LEAST[pool]),
            target(f"valid plans, {words}", valid, VALID),
            target(f"ms of a plan, {words}", slowest, SLOWEST_MS, at_most=True),
        ]
    return goals


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values)
