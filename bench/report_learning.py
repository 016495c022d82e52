"""Section of bench/RESULTS.md on what the light planner learns."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bench.figures import kept
from bench.markdown import section, table, target

Rows = Sequence[dict[str, Any]]
POOL_WORDS = {"fixed": "all six workers", "k of n": "four to six of them"}
LEAST = {
    "fixed": {"2000": 0.80, "5000": 0.90},
    "k of n": {"2000": 0.78, "5000": 0.87},
}
REFLECTION, MIXTURE, ORACLE = "self-reflection x 5", "Mixture-of-Agents", "oracle"


def learning() -> str:
    """Return the section, empty if nothing was measured."""
    found = kept("learning")
    if found is None:
        return ""
    strong = found["strong"]
    about = (
        "Of the [simulated benchmark](../docs/simulated-benchmark.md), so it says "
        "nothing about real models. Runs are logged in two rounds, half explored and "
        "half near the best plans of a first fit; then plans are made for "
        f"{found['held_out']} other questions and scored exactly. A round is a seed of "
        "runs and fit: means, and the worst seed in brackets. Regret is what the best "
        "possible plan has more, cost is in relation to self-reflection x 5, tokens to "
        "Mixture-of-Agents. CPU times, with no table kept between two plans. "
    )
    parts = [section("Learning to plan", about, _rows(strong), _targets(strong), found)]
    parts += [
        "Other questions and other workers, 2,000 runs:\n\n" + _others(found),
        "Plans by rule, and the best possible one (strong generalist):\n\n"
        + _rules(strong["baselines"]),
    ]
    return "\n".join(parts)


def _rows(found: dict[str, Any]) -> list[list[str]]:
    rows = [
        [
            "Pool",
            "Runs",
            "right",
            "regret",
            "steps",
            "cost",
            "tokens",
            "kinds",
            "a plan, p50 and p95",
            "a fit",
        ]
    ]
    for pool, words in POOL_WORDS.items():
        rules = found["baselines"][pool]
        for size, by_pool in found["sizes"].items():
            seeds = by_pool[pool]
            success = _mean(seeds, "success")
            rows.append(
                [
                    words,
                    f"{int(size):,}",
                    f"{success:.3f} ({min(_all(seeds, 'success')):.3f})",
                    f"{rules[ORACLE]['success'] - success:.3f}",
                    f"{_mean(seeds, 'steps'):.1f}",
                    f"{_share(seeds, 'cost_micros', rules[REFLECTION]):.3f}",
                    f"{_share(seeds, 'tokens', rules[MIXTURE]):.2f}",
                    f"{_mean(seeds, 'kinds'):.1f}",
                    f"{_plan_ms(seeds, 0):.1f} ms, {_plan_ms(seeds, 1):.1f} ms",
                    f"{_mean(seeds, 'fit_s'):.1f} s",
                ]
            )
    return rows


def _targets(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the targets, each for the worst seed."""
    goals = []
    for pool, by_size in LEAST.items():
        rules = found["baselines"][pool]
        for size, least in by_size.items():
            seeds = found["sizes"][size][pool]
            of = f"{POOL_WORDS[pool]}, {int(size):,} runs"
            worst = min(_all(seeds, "success"))
            cost = max(_all(seeds, "cost_micros")) / rules[REFLECTION]["cost_micros"]
            tokens = max(_all(seeds, "tokens")) / rules[MIXTURE]["tokens"]
            goals += [
                target(f"right, {of}", worst, least),
                target(f"cost ÷ self-reflection, {of}", cost, 0.15, at_most=True),
                target(f"tokens ÷ Mixture-of-Agents, {of}", tokens, 0.7, at_most=True),
            ]
    slowest = max(
        row["plan_ms"][1]
        for by_pool in found["sizes"].values()
        for seeds in by_pool.values()
        for row in seeds
    )
    return [*goals, target("a plan, p95, ms of CPU", slowest, 5, at_most=True)]


def _others(found: dict[str, Any]) -> str:
    rows = [["Pool", "strong generalist", "its questions reworded", "weak generalist"]]
    for pool, words in POOL_WORDS.items():
        strong = found["strong"]["sizes"]["2000"][pool]
        weak = found["weak"]["sizes"]["2000"][pool]
        rows.append(
            [
                words,
                _success(strong, "success"),
                _success(strong, "success_reworded"),
                _success(weak, "success"),
            ]
        )
    return table(rows)


def _rules(baselines: dict[str, Any]) -> str:
    rows = [["Plan", *(f"{words}: right, cost" for words in POOL_WORDS.values())]]
    for name in baselines["fixed"]:
        rows.append([name])
        for pool in POOL_WORDS:
            rule = baselines[pool][name]
            cost = rule["cost_micros"] / baselines[pool][REFLECTION]["cost_micros"]
            rows[-1].append(f"{rule['success']:.3f}, {cost:.3f}")
    return table(rows)


def _all(seeds: Rows, name: str) -> list[float]:
    return [float(row[name]) for row in seeds]


def _mean(seeds: Rows, name: str) -> float:
    return statistics.fmean(_all(seeds, name))


def _success(seeds: Rows, name: str) -> str:
    return f"{_mean(seeds, name):.3f} ({min(_all(seeds, name)):.3f})"


def _share(seeds: Rows, name: str, rule: dict[str, float]) -> float:
    return _mean(seeds, name) / rule[name]


def _plan_ms(seeds: Rows, place: int) -> float:
    return statistics.fmean(row["plan_ms"][place] for row in seeds)
