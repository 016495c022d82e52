"""Sections of bench/RESULTS.md on load: steady, processes, crowd, background, soak."""

from __future__ import annotations

from typing import Any

from bench.databases import EMBEDDED, PRODUCTION
from bench.figures import kept
from bench.load import ADDRESSES
from bench.markdown import section, target

STEADY_TARGETS = {"LiteLLM proxy": 8, "Portkey gateway": 0.8}
"""Requests/s of direct calls, 32 in flight, as a multiple of a peer's."""


def steady() -> str:
    """Return the section of the minutes of steady load."""
    found = kept("steady")
    if found is None:
        return ""
    head = ["", "", "", "requests/s", "of it in all", "first 5 s", "last 20 s"]
    rows = [[*head, "median", "p99", "CPU a request", "caught up after"]]
    targets = []
    for database in ("fresh", "seeded"):
        for kind, servers in found[database].items():
            for name, seen in servers.items():
                rows.append([database, kind, name, *_steady_figures(seen)])
            ours = servers["Conductor"]
            for peer, wanted in STEADY_TARGETS.items():
                theirs = found["fresh"][kind].get(peer)
                if kind == "direct 32" and theirs:
                    ratio = ours["per_s"] / theirs["per_s"]
                    targets.append(
                        target(f"{database}, {kind}: ÷ {peer}", ratio, wanted)
                    )
            what = f"{database}, {kind}: "
            if kind.endswith(" 32"):
                ratio = ours["last_per_s"] / ours["first_per_s"]
                targets.append(target(f"{what}last 20 s ÷ first 5 s", ratio, 0.9))
            else:
                ratio = ours["p99_ms"] / ours["median_ms"]
                targets.append(target(f"{what}p99 ÷ median", ratio, 5, at_most=True))
    about = (
        f"{found['seconds']:.0f} seconds each, 32 in flight and one at a time, direct "
        "calls every 150 ms; on a fresh database and beside 100,000 runs. One process, "
        "SQLite. Regular tasks give way to requests: *in all* counts the time until "
        "the search index has caught up. "
    )
    return section("Steady load", about, rows, targets, found)


def _steady_figures(seen: dict[str, Any]) -> list[str]:
    is_ours = "caught_up_s" in seen
    return [
        f"{seen['per_s']:.0f}",
        f"{seen['per_s_in_all']:.0f}" if is_ours else "",
        f"{seen['first_per_s']:.0f}",
        f"{seen['last_per_s']:.0f}",
        f"{seen['median_ms']:.1f} ms",
        f"{seen['p99_ms']:.1f} ms",
        f"{seen['cpu_ms_each']:.2f} ms",
        f"{seen['caught_up_s']:.1f} s" if is_ours else "",
    ]


def processes() -> str:
    """Return the section of several processes on one database."""
    found = kept("processes")
    if found is None:
        return ""
    counts = sorted((name for name in found if name.isdigit()), key=int)
    head = ["32 in flight in", "Processes", "runs/s", "median", "CPU a run"]
    rows = [[*head, "of the database", "connections that wait, and for what"]]
    targets = []
    for share in ("each", "all"):
        rows += [_process_figures(share, n, found[n][share]) for n in counts]
        ratio = found["8"][share]["cpu_ms_each"] / found["1"][share]["cpu_ms_each"]
        what = f"32 in flight in {share}: CPU a run, 8 processes ÷ 1"
        targets.append(target(what, ratio, 1.15, at_most=True))
    about = (
        f"Planned runs of one team, {found['seconds']:.0f} s, PostgreSQL and Redis on "
        "the same cores; the round in the middle by CPU. Connections on average. "
    )
    return section("Several processes", about, rows, targets, found)


def _process_figures(share: str, count: str, seen: dict[str, Any]) -> list[str]:
    waits = {name: mean for name, mean in seen["waits"].items() if mean >= 0.01}
    return [
        share,
        count,
        f"{seen['per_s']:.0f}",
        f"{seen['median_ms']:.0f} ms",
        f"{seen['cpu_ms_each']:.1f} ms",
        f"{seen['database_cpu_ms_each']:.1f} ms",
        ", ".join(f"{name} {mean:.2f}" for name, mean in waits.items()),
    ]


def load() -> str:
    """Return the section of the crowd."""
    found = kept("load")
    if found is None:
        return ""
    rows = [["", "", "a second", "median", "p99", "slowest"]]
    targets = []
    for database in (EMBEDDED, PRODUCTION):
        seen = found[database]
        reads, frames = seen["reads"], seen["frames"]
        for name in ADDRESSES:
            rows.append([database, name, "", *_times(seen["by_address"][name])])
        rows += [
            [database, "**all reads**", f"{reads['per_s']:.0f}", *_times(reads)],
            [database, "**frames**", f"{frames['per_s']:.0f}", *_times(frames)],
            [database, "tokens of streams", "", *_times(seen["streams"])],
        ]
        targets += _load_targets(database, seen)
    shares = "; ".join(
        f"{database}: "
        + ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in found[database]["cpu_share"].items()
        )
        for database in (EMBEDDED, PRODUCTION)
    )
    about = (
        "1,000 websockets follow 20 live runs, each of which also streams to an API "
        "client, at one token a second. Meanwhile reads are sent at fixed times and "
        f"timed from then: {', '.join(ADDRESSES)}, each equally often. One web "
        "process on SQLite; two on PostgreSQL and Redis, each pinned to "
        "a core of its own by `taskset`. A frame's "
        "delay begins when the model sends the token and includes 50 ms of "
        f"batching. Shares of one core: {shares}. "
    )
    return section("Crowd", about, rows, targets, found)


def _times(seen: dict[str, Any]) -> list[str]:
    return [f"{seen[key]:.0f} ms" for key in ("median_ms", "p99_ms", "max_ms")]


def _load_targets(
    database: str, seen: dict[str, Any]
) -> list[tuple[str, str, str, str]]:
    reads, frames = seen["reads"], seen["frames"]
    whole = seen["streams"]["whole"] - seen["streams"]["streams"]
    return [
        target(f"{database}: reads a second", reads["per_s"], 297),
        target(f"{database}: reads, p99, ms", reads["p99_ms"], 100, at_most=True),
        target(f"{database}: frames a second", frames["per_s"], 990),
        target(f"{database}: frames, p99, ms", frames["p99_ms"], 500, at_most=True),
        target(f"{database}: frames lost", _lost(frames), 0, at_most=True),
        target(f"{database}: frames doubled", frames["doubled"], 0, at_most=True),
        target(f"{database}: streams not whole", -whole, 0, at_most=True),
    ]


def _lost(frames: dict[str, Any]) -> float:
    return float(frames["lost_text"] + frames["lost_entries"])


def background() -> str:
    """Return the section of the worker process."""
    found = kept("background")
    if found is None:
        return ""
    rows = [["At once", "runs/s", "CPU a run", "CPU", "memory at most"]]
    for at_once in ("10", "1000"):
        seen = found[at_once]
        rows.append(
            [
                at_once,
                f"{seen['per_s']:.0f}",
                f"{seen['cpu_ms_each']:.1f} ms",
                f"{100 * seen['cpu_share']:.0f} %",
                f"{seen['memory_mb']:.0f} MB",
            ]
        )
    few, many = found["10"], found["1000"]
    targets = [
        target("1,000 at once, runs/s", many["per_s"], 150),
        target("1,000 at once, memory, MB", many["memory_mb"], 300, at_most=True),
        target("1,000 at once, executing at the same time", many["live"], 950),
        target(
            "CPU a run, 1,000 at once ÷ 10 at once",
            many["cpu_ms_each"] / few["cpu_ms_each"],
            2,
            at_most=True,
        ),
    ]
    about = (
        "One worker process with its ledger writer, PostgreSQL and Redis, executing "
        "background runs of three steps of 100 ms. Memory shared by the two counts "
        "once. "
    )
    return section("Background runs", about, rows, targets, found)


def fairness() -> str:
    """Return the section on the effect of one team's flood on another team."""
    found = kept("fairness")
    if found is None:
        return ""
    rows = [["request of the calm team", "alone", "during the flood", "ratio"]]
    targets = []
    for kind, seen in found["kinds"].items():
        times = (f"{seen['calm_ms']:.1f} ms", f"{seen['flooded_ms']:.1f} ms")
        rows.append([kind, *times, f"{seen['ratio']:.2f}"])
        targets.append(target(f"{kind}: ratio", seen["ratio"], 2, at_most=True))
    about = (
        "One process, SQLite, two teams. The calm team sends one request after the "
        "other, with short pauses of random length; the other team keeps 40 requests "
        "of the same kind open, with one key and session, unless the row says "
        "otherwise. Medians of the calm team, and the median of the rounds' "
        "ratios; a run calls a model that answers after 100 ms. "
    )
    return section("Fairness between teams", about, rows, targets, found)


def soak() -> str:
    """Return the section of the soaks."""
    every = [found for name in ("soak", "soak-embedded") if (found := kept(name))]
    return "\n".join(map(_soak, every))


def _soak(found: dict[str, Any]) -> str:
    rows = [["runs", "reads", "websockets", "failed", "memory", "for 1,000 runs"]]
    rows.append(
        [
            *(f"{found[name]:,}" for name in ("runs", "reads", "sockets", "failed")),
            f"{found['memory_mb']:.0f} MB",
            f"{found['kb_per_1000_runs']:+.0f} KB",
        ]
    )
    targets = [
        target("growth of memory, %", 100 * found["memory_growth"], 5, at_most=True),
        target("requests failed", found["failed"], 0, at_most=True),
        target("the ledger verifies", float(found["verifies"]), 1),
    ]
    about = (
        f"{found['minutes']:g} minutes of runs, streams, reads and websockets that "
        f"open and close, on {found['database']}. Memory of the web process with "
        "its ledger writer: the median of the last quarter; its growth is relative to "
        "the second quarter; for 1,000 runs it is the slope of a line through all but "
        "the first. "
    )
    if "files_at_rest" not in found:
        about += "Open files were not counted at rest. "
    else:
        before, after = found["files_at_rest"]
        targets.append(target("more open files", after - before, 0, at_most=True))
        about += (
            "Open files are counted without load, after a minute of warm-up and at the "
            "end, excluding pooled connections to the database and Redis. "
        )
    return section(f"Soak, {found['database']}", about, rows, targets, found)
