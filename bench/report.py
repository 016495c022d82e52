"""Writes bench/RESULTS.md from the figures that the benchmarks have kept."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path
from typing import Any

from bench.figures import kept
from bench.servers import PEERS, ROOT

RESULTS = ROOT / "bench" / "RESULTS.md"
OURS = "Conductor"
HEAD = """\
# Benchmarks

Written by `make bench` and `make bench-peers`. All servers of one table ran at once on
the same machine and were asked in turn; every figure is the median of its rounds.
Absolute times say as much about the machine as about the software: compare within a
table only. Each server is one process, the Python ones with uvloop and httptools;
Conductor's has a child that writes the ledger, and its CPU is that of both. The
load comes from a process of its own, all databases are SQLite on the same disk, and the
ledger is on and durable (`synchronous=FULL`).
"""


def main() -> None:
    """Write the file."""
    parts = [
        HEAD,
        _machine(),
        _engine("engine", "Engine"),
        _engine("engine-peers", "Engine beside LangGraph"),
        _gateway("gateway", "Gateway"),
        _gateway("gateway-peers", "Gateway beside LiteLLM and Portkey"),
        _streams(),
        _ledger(),
        _lists(),
        _how(),
    ]
    RESULTS.write_text("\n".join(part for part in parts if part))


def _machine() -> str:
    return (
        f"Machine: {os.cpu_count()} cores, {_processor()}; "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}.\n"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


# --- sections ------------------------------------------------------------------------


def _engine(file: str, title: str) -> str:
    found = kept(file)
    if found is None:
        return ""
    path_ms = found["critical_path_ms"]
    rows = [["At once", "", "a run, median", "all done after", "runs/s", "CPU a run"]]
    for count in ("1", "100", "500"):
        for name, seen in found[count].items():
            rows.append(
                [
                    count,
                    name,
                    f"{seen['median_ms']:.0f} ms",
                    f"{seen['wall_s']:.2f} s",
                    f"{seen['per_s']:.0f}",
                    f"{seen['cpu_ms_each']:.1f} ms",
                ]
            )
    about = (
        "Planner 50 ms, then two workers of 100 ms each at the same time, then an "
        f"aggregator of 100 ms: no run can take less than {path_ms:.0f} ms. Over HTTP. "
        'LangGraph checkpoints to SQLite after each step (`durability="sync"`), served '
        "by Starlette. "
    )
    return _section(title, about, rows, _engine_targets(found), found)


def _engine_targets(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    path_ms = found["critical_path_ms"]
    alone = found["1"][OURS]["median_ms"] / path_ms
    crowd = 1000 * found["100"][OURS]["wall_s"] / path_ms
    targets = [
        _target("one run, wall ÷ critical path", alone, 1.10, at_most=True),
        _target("100 at once, all done ÷ critical path", crowd, 2.0, at_most=True),
    ]
    for count, wanted in (("100", 1.5), ("500", 2.5)):
        ours, peer = found[count][OURS], found[count].get("LangGraph")
        if peer:
            rate = ours["per_s"] / peer["per_s"]
            cpu = ours["cpu_ms_each"] / peer["cpu_ms_each"]
            targets += [
                _target(f"{count} at once, runs/s ÷ LangGraph", rate, wanted),
                _target(f"{count} at once, CPU ÷ LangGraph", cpu, 0.5, at_most=True),
            ]
    return targets


def _gateway(file: str, title: str) -> str:
    found = kept(file)
    if found is None:
        return ""
    rows = [["In flight", "", "requests/s", "median", "p99", "CPU a request"]]
    for count in ("32", "1"):
        for name, seen in found[count].items():
            rows.append(
                [
                    count,
                    name,
                    f"{seen['per_s']:.0f}",
                    f"{seen['median_ms']:.1f} ms",
                    f"{seen['p99_ms']:.1f} ms",
                    f"{seen['cpu_ms_each']:.2f} ms",
                ]
            )
    targets = []
    for count, peer, wanted in (
        ("32", "LiteLLM proxy", 5.0),
        ("32", "Portkey gateway", 0.8),
        ("1", "LiteLLM proxy", 3.0),
    ):
        if peer in found[count]:
            rate = found[count][OURS]["per_s"] / found[count][peer]["per_s"]
            what = f"{count} in flight, requests/s ÷ {peer}"
            targets.append(_target(what, rate, wanted))
    about = (
        "`worker/<name>`, not streamed, against a model that answers at once. "
        "Conductor records five ledger entries in two durable commits for each "
        "request; the LiteLLM proxy runs without a database, Portkey records nothing. "
    )
    return _section(title, about, rows, targets, found)


def _streams() -> str:
    found = kept("streams")
    if found is None:
        return ""
    rows = [["", "first token, median", "delay, median", "delay, p99", "whole", "CPU"]]
    for name in (OURS, "upstream alone"):
        seen = found[name]
        rows.append(
            [
                name,
                f"{seen['first_median_ms']:.1f} ms",
                f"{seen['delay_median_ms']:.1f} ms",
                f"{seen['delay_p99_ms']:.1f} ms",
                f"{seen['whole']:.0f} of {seen['streams']:.0f}",
                f"{100 * seen['cpu_share']:.0f} %",
            ]
        )
    ours = found[OURS]
    targets = [
        _target(
            "first token after the worker's, ms",
            ours["first_median_ms"],
            15,
            at_most=True,
        ),
        _target("delay of a token, p99, ms", ours["delay_p99_ms"], 20, at_most=True),
        _target("streams that ended whole", ours["whole"], ours["streams"]),
    ]
    about = (
        "200 streams of 50 tokens/s at once, 200 tokens each, begun at random within "
        "a second. Delay: from when the model sent a token to when the client had it. "
        "The second row is the instrument itself, without anything in between. "
    )
    return _section("Streams", about, rows, targets, found)


def _ledger() -> str:
    found = kept("ledger")
    if found is None:
        return ""
    rows = [["", "entries/s", "entries per CPU second"]]
    for writers, seen in found["append"].items():
        what = "1 writer" if writers == "1" else f"{writers} writers"
        rows.append([f"append, {what}", *_rates(seen)])
    rows.append(["verify", *_rates(found["verify"])])
    targets = [_target("verified per second", found["verify"]["per_s"], 20_000)]
    about = (
        "Entries with one encrypted body each, appended durably two at a time by tasks "
        "of one event loop; verified from the first to the head, bodies decrypted. "
    )
    return _section("Ledger", about, rows, targets, found)


def _lists() -> str:
    found = kept("lists")
    if found is None:
        return ""
    rows = [["", "", "queries", "median", "slowest"]]
    slowest = 0.0
    for database, addresses in found["databases"].items():
        for name, seen in addresses.items():
            slowest = max(slowest, seen["median_ms"])
            times = f"{seen['median_ms']:.0f} ms", f"{seen['max_ms']:.0f} ms"
            rows.append([database, name, f"{seen['queries']}", *times])
    targets = [_target("slowest median, ms", slowest, 100, at_most=True)]
    about = (
        "A team with 100,000 runs, 1,000 members and 500 keys; views in process, "
        "template and queries included. "
    )
    return _section("Lists", about, rows, targets, found)


def _rates(seen: dict[str, Any]) -> tuple[str, str]:
    return f"{seen['per_s']:,.0f}", f"{seen['per_cpu_s']:,.0f}"


def _how() -> str:
    pins = sorted(
        line.strip()
        for name in ("langgraph.txt", "litellm.txt")
        for line in (PEERS / name).read_text().splitlines()
        if line.startswith(("langgraph", "litellm"))
    )
    return (
        "## Peers\n\n"
        f"{', '.join(pins)}, @portkey-ai/gateway (see bench/peers/package.json). One "
        "process and one worker each, production settings, nothing fetched from "
        "outside, in environments of their own.\n"
    )


# --- Markdown ------------------------------------------------------------------------


def _target(
    what: str, value: float, wanted: float, *, at_most: bool = False
) -> tuple[str, str, str, str]:
    is_met = value <= wanted if at_most else value >= wanted
    sign = "≤" if at_most else "≥"
    return what, f"{value:,.2f}", f"{sign} {wanted:,g}", "yes" if is_met else "**no**"


def _section(
    title: str,
    about: str,
    rows: list[list[str]],
    targets: list[tuple[str, str, str, str]],
    found: dict[str, Any],
) -> str:
    when = (
        f"Measured on {found['measured_on']}, {found['rounds']} rounds, load average "
        f"before it {found['load_before']:.1f}."
    )
    missing = "".join(
        f"\n\nNot measured: {name}: {' '.join(why.split())}"
        for name, why in found.get("missing", {}).items()
    )
    goals = ""
    if targets:
        head = ["Target", "measured", "wanted", "met"]
        goals = "\n" + _table([head, *map(list, targets)])
    return f"## {title}\n\n{about}{when}{missing}\n\n{_table(rows)}{goals}"


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
