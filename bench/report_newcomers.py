"""Sections of bench/RESULTS.md on newcomers, and on the site's default."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench.figures import kept
from bench.markdown import section, table, target

Rows = Sequence[dict[str, Any]]
WANTED = 0.60
POOL_WORDS = {"fixed": "all six workers", "k of n": "four to six of them"}


def share(rows: Rows) -> float:
    """Return how much of what newcomers could add the probes bring, summed."""
    brought = sum(row["probed"] - row["without"] for row in rows)
    possible = sum(row["from_the_start"] - row["without"] for row in rows)
    return float(brought / possible)


def newcomers() -> str:
    """Return the section, empty if nothing was measured."""
    found = kept("learning_newcomers")
    if found is None:
        return ""
    about = (
        "Each worker of the strong roster is left out in turn. A light planner learns "
        f"from runs of the other five, then takes the left-out one in by "
        f"{found['probes']} runs about it. From the start: a planner with as many runs "
        f"of all six. Exact, of {found['held_out']} questions; the share is the gain "
        "by the probes in relation to that of a planner that had it from the start, "
        "both summed over what is in the row. "
    )
    every: Rows = found["rows"]
    rows = [["Runs", "Newcomer", "without", "probed", "from the start", "share"]]
    targets = []
    for size in dict.fromkeys(row["runs"] for row in every):
        of_size = [row for row in every if row["runs"] == size]
        for name in dict.fromkeys(row["newcomer"] for row in of_size):
            some = [row for row in of_size if row["newcomer"] == name]
            rows.append([f"{size:,}", name, *_means(some), ""])
        shares = [
            share([row for row in of_size if row["seed"] == seed])
            for seed in dict.fromkeys(row["seed"] for row in of_size)
        ]
        by_seed = ", ".join(f"{each:.2f}" for each in shares)
        whole = f"{share(of_size):.2f} (by seed {by_seed})"
        rows.append([f"{size:,}", "**mean**", *_means(of_size), whole])
        targets.append(target(f"share, {size:,} runs", share(of_size), WANTED))
    return section("A worker added after training", about, rows, targets, found)


def _means(rows: Rows) -> list[str]:
    names = ("without", "probed", "from_the_start")
    return [f"{statistics.fmean(row[name] for row in rows):.3f}" for name in names]


def site_default() -> str:
    """Return the section, empty if nothing was measured."""
    found = kept("learning_site_default")
    if found is None:
        return ""
    about = (
        "The planner of teams without runs of their own: profiles of one calibration, "
        "and weights fitted on simulated workers that were drawn by chance; those of "
        "the benchmark are not among them. The best worker, and that of each family, "
        f"are those of the same calibration. Exact, of {found['held_out']} questions; "
        "means of the seeds, the worst in brackets. "
    )
    names = list(found["fixed"]["20"][0])
    rows = [["Pool", "Answers of a worker to each family", *names]]
    for pool, words in POOL_WORDS.items():
        for answers, seeds in found[pool].items():
            cells = [_success([row[name] for row in seeds]) for name in names]
            rows.append([words, answers, *cells])
    return section("The site's default", about, rows, [], found) + _costs(found, names)


def _success(rows: Rows) -> str:
    values = [row["success"] for row in rows]
    return f"{statistics.fmean(values):.3f} ({min(values):.3f})"


def _costs(found: dict[str, Any], names: Sequence[str]) -> str:
    """Return what a question costs in micro-dollars, with 20 answers."""
    rows = [["Micro-dollars a question, 20 answers", *names]]
    for pool, words in POOL_WORDS.items():
        seeds = found[pool]["20"]
        costs = [
            statistics.fmean(row[name]["cost_micros"] for row in seeds)
            for name in names
        ]
        rows.append([words, *(f"{cost:,.0f}" for cost in costs)])
    return "\n" + table(rows)
