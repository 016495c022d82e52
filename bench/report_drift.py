"""Section of bench/RESULTS.md on worlds that shift."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from bench.figures import kept
from bench.markdown import section, table, target

Rows = Sequence[dict[str, Any]]
LEAST_DISTANCE = 0.02
"""Success between a shift and the best plans after it, of which a share says much."""
LOST, SPARSE = "skill lost", "skill lost, 5 % graded"


def drift() -> str:
    """Return the section, empty if nothing was measured."""
    found = kept("drift")
    if found is None:
        return ""
    about = (
        f"A light planner learns from {found['runs']:,} runs of a world; then it "
        "shifts, and live requests come. Of a fifth the last answer is graded; one in "
        "ten tries a plan near the best one. Nobody trains anything. Success is "
        f"exact, of {found['held_out']} other questions; the best is the best plan "
        "of the templates after the shift. Share: what was regained of the distance to "
        f"it, where that was at least {LEAST_DISTANCE}; part of "
        "the distance was there before the shift. Loss: the same of what was lost. "
        "Each figure: median (quartiles; worst) of all seeds. "
    )
    rows: Rows = found["shifts"]
    parts = [
        section("When the world shifts", about, _success(rows), _targets(found), found),
        "What the planner promised more than its plans deserved, and the first alarm "
        "that names the worker, counted in graded runs in which it had a part in the "
        "family concerned. Where the plans change before there is an alarm, it is not "
        "noticed. Others: alarms that name another worker.\n\n" + table(_noticed(rows)),
        _anew(rows),
        _calm(found),
    ]
    return "\n".join(parts)


def _groups(rows: Rows) -> Iterable[tuple[str, str, Rows]]:
    names = dict.fromkeys((row["world"], row["shift"]) for row in rows)
    for world, shift in names:
        yield (
            world,
            shift,
            [row for row in rows if (row["world"], row["shift"]) == (world, shift)],
        )


def _success(rows: Rows) -> list[list[str]]:
    head = ["World", "Shift", "cases", "before", "after it", "1st third", "2nd", "last"]
    table_rows = [[*head, "best", "share", "loss", "micro-$ before, after, last"]]
    for world, shift, some in _groups(rows):
        curves = [_curve(row, "success") for row in some]
        costs = [_curve(row, "cost_micros") for row in some]
        table_rows.append(
            [
                world,
                f"{shift}, {_requests(shift)} requests",
                str(len(some)),
                _spread([row["before"]["success"] for row in some]),
                *(_spread([curve[at] for curve in curves]) for at in range(4)),
                _middle([row["oracle"] for row in some]),
                _spread(_shares(some), 2),
                _spread(_of_loss(some), 2),
                ", ".join(
                    f"{statistics.median(each):,.0f}"
                    for each in (
                        [row["before"]["cost_micros"] for row in some],
                        [cost[0] for cost in costs],
                        [cost[-1] for cost in costs],
                    )
                ),
            ]
        )
    return table_rows


def _requests(shift: str) -> str:
    return "2,400" if shift == SPARSE else "600"


def _noticed(rows: Rows) -> list[list[str]]:
    head = ["World", "Shift", "noticed", "after affected graded runs", "others"]
    found = [[*head, "gap before", "first 100 requests", "after 600 (5 %: 2,400)"]]
    for world, shift, some in _groups(rows):
        seen = [row["affected"] for row in some if row["is_detected"]]
        found.append(
            [
                world,
                shift,
                f"{len(seen)} of {len(some)}",
                _spread(seen, 0, worst=max) if seen else "",
                f"{sum(row['others_blamed'] for row in some)}",
                _spread([_gap(row["before"]) for row in some], 3, worst=max),
                _spread([row["gap_first"] for row in some], 3, worst=max),
                _spread([_gap(row["scores"][-1]) for row in some], 3, worst=max),
            ]
        )
    return found


def _anew(rows: Rows) -> str:
    head = ["World", "before", "after the shift", "live, 600", "fitted anew", "best"]
    lines = [[*head, "regained of the distance to the one fitted anew"]]
    for world in dict.fromkeys(row["world"] for row in rows):
        some = [row for row in rows if row["world"] == world and "anew" in row]
        lines.append(
            [
                world,
                _spread([row["before"]["success"] for row in some]),
                _spread([_curve(row, "success")[0] for row in some]),
                _spread([_curve(row, "success")[-1] for row in some]),
                _spread([row["anew"] for row in some]),
                _middle([row["oracle"] for row in some]),
                _spread(_regained([(row, row["anew"]) for row in some]), 2),
            ]
        )
    return (
        "One lost skill of each seed beside a planner that learns from as many runs of "
        "the new world as the first one did of the old:\n\n" + table(lines)
    )


def _calm(found: dict[str, Any]) -> str:
    lines = [["World", "graded runs", "alarms", "gap", "success before", "afterwards"]]
    calm: Rows = found["calm"]
    for world in dict.fromkeys(row["world"] for row in calm):
        some = [row for row in calm if row["world"] == world]
        lines.append(
            [
                world,
                f"{sum(row['graded'] for row in some):,}",
                f"{sum(len(row['alarms']) for row in some)}",
                _spread([row["gap"] for row in some], 3, worst=max),
                _spread([row["scores"][0]["success"] for row in some]),
                _spread([row["scores"][-1]["success"] for row in some]),
            ]
        )
    times = "; ".join(
        f"{name.removeprefix('times of ')}: 5,000 graded runs are followed in "
        f"{each['adapted_s']:.1f} s of CPU time, a plan takes {each['plan_ms'][0]:.1f} "
        f"ms, {each['plan_ms'][1]:.1f} ms at the 95th percentile"
        for name, each in found.items()
        if name.startswith("times of ")
    )
    return (
        f"Where nothing shifts, and all of {found['calm_runs']:,} live runs of each "
        f"seed are graded:\n\n{table(lines)}\n{times}.\n"
    )


def _targets(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    rows: Rows = found["shifts"]
    goals = []
    for world in dict.fromkeys(row["world"] for row in rows):
        some = [row for row in rows if row["world"] == world and row["shift"] == LOST]
        runs = [row["affected"] if row["is_detected"] else math.inf for row in some]
        last = statistics.median(_gap(row["scores"][-1]) for row in some)
        calm = [row for row in found["calm"] if row["world"] == world]
        graded = sum(row["graded"] for row in calm)
        alarms = sum(len(row["alarms"]) for row in calm)
        slowest = found[f"times of {world}"]["plan_ms"][1]
        goals += [
            target(
                f"{world}: graded runs until a lost skill is noticed, median",
                statistics.median(runs),
                60,
                at_most=True,
            ),
            target(
                f"{world}: share regained in 600 requests, median",
                statistics.median(_shares(some)),
                0.9,
            ),
            target(
                f"{world}: promised - observed after 120 graded runs, median",
                last,
                0.05,
                at_most=True,
            ),
            target(
                f"{world}: promised - observed, calm, median",
                statistics.median(row["gap"] for row in calm),
                0.03,
                at_most=True,
            ),
            target(
                f"{world}: false alarms in 10,000 runs (of {graded:,})",
                10_000 * alarms / graded,
                1,
                at_most=True,
            ),
            target(f"{world}: a plan, p95, ms", slowest, 4, at_most=True),
        ]
    return goals


def _shares(rows: Rows) -> list[float]:
    """Return what was regained of the distance to the best plans."""
    return _regained([(row, row["oracle"]) for row in rows])


def _of_loss(rows: Rows) -> list[float]:
    """Return what was regained of what was lost."""
    return _regained([(row, row["before"]["success"]) for row in rows])


def _regained(goals: Sequence[tuple[dict[str, Any], float]]) -> list[float]:
    """Return the shares regained, where there is a distance to the goal."""
    found = []
    for row, goal in goals:
        first, *_, last = _curve(row, "success")
        if goal - first >= LEAST_DISTANCE:
            found.append((last - first) / (goal - first))
    return found


def _curve(row: dict[str, Any], name: str) -> list[float]:
    return [float(each[name]) for each in row["scores"]]


def _gap(score: dict[str, float]) -> float:
    return score["promised"] - score["success"]


def _middle(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f}"


def _spread(values: Sequence[float], digits: int = 3, worst: Any = min) -> str:
    """Return the median of values, their quartiles and the worst one."""
    if len(values) < 2:
        return ", ".join(f"{value:.{digits}f}" for value in values)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    parts = (f"{value:.{digits}f}" for value in (middle, low, high, worst(values)))
    return "{} ({} to {}; {})".format(*parts)
