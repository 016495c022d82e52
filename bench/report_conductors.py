"""Section of bench/RESULTS.md on what tiny conductors learn from a light planner."""

from __future__ import annotations

import statistics
from typing import Any

from bench.figures import kept
from bench.markdown import section, table, target
from bench.report_learning import ORACLE, POOL_WORDS, REFLECTION

LEAST = {"fixed": 0.90, "k of n": 0.85}
VALID = 0.98
RULES = ("best worker per family", REFLECTION)


def conductors() -> str:
    """Return the section, empty if nothing was measured."""
    found = kept("conductor_learning")
    if found is None:
        return ""
    about = (
        "Tiny Qwen2 models, fitted on near-best plans of a light planner that had "
        f"learned from {found['runs']:,} logged runs (the strong generalist's pool). "
        f"They write plans for {found['held_out']} other questions, the most probable "
        "word each time; the plans are read like those of any conductor and scored "
        "exactly, and a reply that is no valid plan is wrong. A row is a seed of runs, "
        "first weights and examples. Cost is in relation to self-reflection x 5, CPU "
        "time that of the fit, on one thread. "
    )
    parts = [
        section(
            "Conductors by expert iteration",
            about,
            _rows(found),
            _targets(found),
            found,
        ),
        "By family, mean of the seeds, with the workers of at least a tenth of the "
        "steps:\n\n" + _families(found),
    ]
    return "\n".join(parts)


def _rows(found: dict[str, Any]) -> list[list[str]]:
    head = ["Pool", "Seed", "right", "its teacher", *RULES, ORACLE, "valid", "steps"]
    rows = [[*head, "cost", "fitted on", "CPU time"]]
    for pool, words in POOL_WORDS.items():
        rules = found["baselines"][pool]
        for seed, row in enumerate(found["seeds"][pool]):
            fit = row["fit"]
            cost = row["cost_micros"] / rules[REFLECTION]["cost_micros"]
            rows.append(
                [
                    words,
                    str(seed),
                    f"{row['success']:.3f}",
                    f"{row['teacher']['success']:.3f}",
                    *(f"{rules[name]['success']:.3f}" for name in (*RULES, ORACLE)),
                    f"{row['valid']:.3f}",
                    f"{row['steps']:.1f}",
                    f"{cost:.3f}",
                    f"{fit['steps']:,} steps, {fit['tokens'] / 1e6:.1f} M tokens",
                    f"{fit['cpu_s']:.0f} s",
                ]
            )
    return rows


def _targets(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the targets, each for the worst seed."""
    goals = []
    for pool, least in LEAST.items():
        seeds = found["seeds"][pool]
        worst = {name: min(row[name] for row in seeds) for name in ("success", "valid")}
        goals += [
            target(f"right, {POOL_WORDS[pool]}", worst["success"], least),
            target(f"valid plans, {POOL_WORDS[pool]}", worst["valid"], VALID),
        ]
    return goals


def _families(found: dict[str, Any]) -> str:
    rows = [["Family", *(f"{w}: right, by whom" for w in POOL_WORDS.values())]]
    for family in found["seeds"]["fixed"][0]["families"]:
        row = [family.replace("_", " ")]
        for pool in POOL_WORDS:
            seeds = [each["families"][family] for each in found["seeds"][pool]]
            success = statistics.fmean(seed["success"] for seed in seeds)
            row.append(f"{success:.3f}: {_shares(seeds)}")
        rows.append(row)
    return table(rows)


def _shares(seeds: list[dict[str, Any]]) -> str:
    names = sorted({name for seed in seeds for name in seed["shares"]})
    means = {
        name: statistics.fmean(seed["shares"].get(name, 0.0) for seed in seeds)
        for name in names
    }
    most = sorted(means.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {share:.2f}" for name, share in most if share >= 0.1)
