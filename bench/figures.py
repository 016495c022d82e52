"""Rounds, medians and where figures are kept between measuring and reporting."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.servers import ROOT

KEPT = ROOT / "bench" / "figures"
"""Under version control: not every machine measures everything."""
LOAD_BEFORE = os.getloadavg()[0]
"""How busy the machine was with other things when this process started."""
Seen = Mapping[str, Any]


def alternate(
    names: Iterable[str], measure: Callable[[str], Seen], rounds: int
) -> dict[str, dict[str, Any]]:
    """Measure each in turn, `rounds` times, and return the medians of each.

    In turn, so that whatever else the machine does falls on all alike.
    """
    names = list(names)
    seen: dict[str, list[Seen]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names:
            seen[name].append(measure(name))
            say(f"  round {number + 1}/{rounds} {name}: {_short(seen[name][-1])}")
    return {name: medians(rows) for name, rows in seen.items()}


def medians(rows: list[Seen]) -> dict[str, Any]:
    """Return the median of each number over the rounds."""
    numbers = [key for key, value in rows[0].items() if isinstance(value, int | float)]
    return {key: statistics.median(row[key] for row in rows) for key in numbers}


def keep(name: str, figures: Mapping[str, Any]) -> None:
    """Store figures for the report: with the day, the machine, how busy it was."""
    KEPT.mkdir(parents=True, exist_ok=True)
    today = datetime.now(UTC).date().isoformat()
    document = {
        "measured_on": today,
        "machine": _machine(),
        "load_before": LOAD_BEFORE,
        **figures,
    }
    (KEPT / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


def kept(name: str) -> dict[str, Any] | None:
    """Return stored figures, None if there are none."""
    path = KEPT / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def say(line: str) -> None:
    """Tell the person at the terminal."""
    print(line, file=sys.stderr, flush=True)


def _short(seen: Seen) -> str:
    if "per_s" in seen:
        return f"{seen['per_s']:.0f}/s, median {seen['median_ms']:.1f} ms"
    if "plan_us" in seen:
        return f"{seen['run_us']:.0f} µs, {seen['plan_us']:.0f} µs"
    return f"p99 {seen['delay_p99_ms']:.1f} ms, lag {seen['lag_p99_ms']:.1f} ms"


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores, {_processor()}, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
