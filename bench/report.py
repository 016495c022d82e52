"""Writes bench/RESULTS.md from the stored figures of the benchmarks."""

from __future__ import annotations

from typing import Any

from bench.figures import kept
from bench.markdown import section, target
from bench.report_conductors import conductors
from bench.report_drift import drift
from bench.report_learning import learning
from bench.report_load import background, fairness, load, processes, soak, steady
from bench.report_newcomers import newcomers, site_default
from bench.report_tiny_conductor import tiny_conductor
from bench.servers import PEERS, ROOT

RESULTS = ROOT / "bench" / "RESULTS.md"
OURS = "Conductor"
HEAD = """\
# Benchmarks

Written by `make bench`, `make bench-peers`, `make bench-load`, `make bench-steady`,
`make bench-learning` and `make bench-drift`. All servers of one
table ran at once on the same machine and were measured in turn; every figure is the
median of its rounds.
Absolute times depend on the machine as much as on the software: compare figures only
within a table, on the machine that it names. Each server is one process, the Python
ones with uvloop and httptools; Conductor's has a child process that writes the ledger,
and its CPU is that of both. A separate process generates the load, databases are SQLite
on the same disk unless a table says PostgreSQL, and the ledger is on and durable
(`synchronous=FULL`, `fsync`).
"""


def main() -> None:
    """Write the file."""
    parts = [
        HEAD,
        _engine("engine", "Engine"),
        _engine("engine-peers", "Engine beside LangGraph"),
        _gateway("gateway", "Gateway"),
        _gateway("gateway-peers", "Gateway beside LiteLLM and Portkey"),
        _streams(),
        _ledger(),
        _lists(),
        _insights(),
        _pages(),
        _ledger_pages(),
        _ledger_exports(),
        _policy(),
        _evaluation(),
        learning(),
        newcomers(),
        site_default(),
        drift(),
        conductors(),
        tiny_conductor(),
        steady(),
        processes(),
        load(),
        background(),
        fairness(),
        soak(),
        _how(),
    ]
    RESULTS.write_text("\n".join(part for part in parts if part))


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
        f"aggregator of 100 ms: a run takes at least {path_ms:.0f} ms. Over HTTP. "
        'LangGraph checkpoints to SQLite after each step (`durability="sync"`), served '
        "by Starlette. "
    )
    return section(title, about, rows, _engine_targets(found), found)


def _engine_targets(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    path_ms = found["critical_path_ms"]
    alone = found["1"][OURS]["median_ms"] / path_ms
    crowd = 1000 * found["100"][OURS]["wall_s"] / path_ms
    targets = [
        target("one run, wall ÷ critical path", alone, 1.10, at_most=True),
        target("100 at once, all done ÷ critical path", crowd, 2.0, at_most=True),
    ]
    for count, wanted in (("100", 1.5), ("500", 2.5)):
        ours, peer = found[count][OURS], found[count].get("LangGraph")
        if peer:
            rate = ours["per_s"] / peer["per_s"]
            cpu = ours["cpu_ms_each"] / peer["cpu_ms_each"]
            targets += [
                target(f"{count} at once, runs/s ÷ LangGraph", rate, wanted),
                target(f"{count} at once, CPU ÷ LangGraph", cpu, 0.5, at_most=True),
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
            targets.append(target(what, rate, wanted))
    about = (
        "`worker/<name>`, not streamed, against a model that answers at once. "
        "Conductor records five ledger entries in two durable commits for each "
        "request; the LiteLLM proxy runs without a database, Portkey records nothing. "
    )
    return section(title, about, rows, targets, found)


def _streams() -> str:
    found = kept("streams")
    if found is None:
        return ""
    head = ["", "first token, median", "delay, median", "delay, p99", "lag, p99"]
    rows = [[*head, "whole", "CPU"]]
    for name in (OURS, "upstream alone"):
        seen = found[name]
        rows.append(
            [
                name,
                f"{seen['first_median_ms']:.1f} ms",
                f"{seen['delay_median_ms']:.1f} ms",
                f"{seen['delay_p99_ms']:.1f} ms",
                f"{seen['lag_p99_ms']:.1f} ms",
                f"{seen['whole']:.0f} of {seen['streams']:.0f}",
                f"{100 * seen['cpu_share']:.0f} %",
            ]
        )
    ours = found[OURS]
    targets = [
        target(
            "first token after the worker's, ms",
            ours["first_median_ms"],
            15,
            at_most=True,
        ),
        target("delay of a token, p99, ms", ours["delay_p99_ms"], 20, at_most=True),
        target("lag of the event loop, p99, ms", ours["lag_p99_ms"], 50, at_most=True),
        target("streams that ended whole", ours["whole"], ours["streams"]),
    ]
    about = (
        "200 streams of 50 tokens/s at once, 200 tokens each, begun at random within "
        "a second. Delay: the time from the model's sending a token to the client's "
        "receiving it. Lag: the server's time, meanwhile, to refuse a request that "
        "needs no work. The second row is the load generator alone, connected "
        "directly to the model. "
    )
    return section("Streams", about, rows, targets, found)


def _ledger() -> str:
    found = kept("ledger")
    if found is None:
        return ""
    rows = [["", "entries/s", "entries per CPU second"]]
    for writers, seen in found["append"].items():
        what = "1 writer" if writers == "1" else f"{writers} writers"
        rows.append([f"append, {what}", *_rates(seen)])
    rows.append(["verify", *_rates(found["verify"])])
    targets = [target("verified per second", found["verify"]["per_s"], 20_000)]
    if tree := found.get("tree"):
        rows += [[f"append, {name}", *_rates(seen)] for name, seen in tree.items()]
        with_tree, without = tree["with the tree"], tree["without the tree"]
        ratio = with_tree["per_s"] / without["per_s"]
        targets.append(target("appended with the tree, share", ratio, 0.95))
    about = (
        "Tasks of one event loop append entries durably, two at a time, each with one "
        "encrypted body; verification runs from the first entry to the head and "
        "decrypts the bodies. "
    )
    return section("Ledger", about, rows, targets, found)


def _lists() -> str:
    found = kept("lists")
    if found is None:
        return ""
    rows = [["", "", "queries", "first time", "median", "slowest"]]
    targets = []
    for database, measured in found["databases"].items():
        medians = []
        for name, seen in measured["addresses"].items():
            medians.append(seen["median_ms"])
            times = (seen["first_ms"], seen["median_ms"], seen["max_ms"])
            queries = f"{seen['queries']}"
            rows.append([database, name, queries, *(f"{ms:.0f} ms" for ms in times)])
        what = f"{database}, {measured['runs']:,} runs: slowest median, ms"
        wanted = 100 if measured["runs"] <= 100_000 else 200
        targets.append(target(what, max(medians), wanted, at_most=True))
    about = (
        "A team with 1,000 members, 500 keys and the number of runs stated below, over "
        "35 days until 23:30, 20 of them running. Views are called in process; times "
        "include templates and queries. Usage was summed beforehand, as a process of "
        "the site does every minute. "
    )
    return section("Lists", about, rows, targets, found)


def _pages() -> str:
    found = kept("pages")
    if found is None:
        return ""
    seen, long = found["playground"], found["long_conversation"]
    rows = [
        ["", "median"],
        ["Page can be used after", f"{seen['ready_ms']:.0f} ms"],
        ["Own script, uncompressed", f"{seen['script_bytes'] / 1000:.0f} kB"],
        ["Frames drawn while the answer comes", f"{seen['paints_per_s']:.0f} a second"],
        ["Share of a core while it comes", f"{seen['core_share']:.0%}"],
        ["Layout shifts until it has ended", f"{seen['layout_shift']:.4f}"],
        ["Long conversation can be used after", f"{long['ready_ms']:.0f} ms"],
        ["Its longest frame when scrolled", f"{long['longest_frame_ms']:.0f} ms"],
        ["A key typed in it is shown after, p95", f"{long['key_p95_ms']:.0f} ms"],
    ]
    targets = [
        target("can be used, ms", seen["ready_ms"], 1000, at_most=True),
        target("own script, kB", seen["script_bytes"] / 1000, 150, at_most=True),
        target("frames a second", seen["paints_per_s"], 20, at_most=True),
        target("share of a core", seen["core_share"], 0.3, at_most=True),
        target("layout shifts, 1/1000", seen["layout_shift"] * 1000, 20, at_most=True),
    ]
    about = (
        "The playground in Chromium with an empty cache, beside the site on the same "
        "machine. An answer of 2,000 tokens of Markdown comes at 100 tokens a second. "
        f"The long conversation has {found['turns']} turns. "
    )
    return section("Pages", about, rows, targets, found)


def _insights() -> str:
    found = kept("insights")
    if found is None:
        return ""
    rows = [["", "", "queries", "first time", "median", "slowest"]]
    targets = []
    for database, measured in found["databases"].items():
        for name, seen in measured["addresses"].items():
            times = (seen["first_ms"], seen["median_ms"], seen["max_ms"])
            queries = f"{seen['queries']}"
            rows.append([database, name, queries, *(f"{ms:.0f} ms" for ms in times)])
        pages = [seen["median_ms"] for seen in measured["addresses"].values()]
        what = f"{database}, {measured['runs']:,} runs: slowest median, ms"
        targets.append(target(what, max(pages), 200, at_most=True))
    summed = ", ".join(
        f"{database} {measured['summed_s']:.0f} s"
        for database, measured in found["databases"].items()
    )
    about = (
        "The team of the lists, with the number of runs stated below; one run in ten "
        "has a fault. Views are called in process, at 23:30; times include templates "
        f"and queries. All days were summed beforehand, once, in {summed}. "
    )
    return section("Insights", about, rows, targets, found)


PAGE_TIMES = {"median_ms": "median", "p95_ms": "95th percentile", "cpu_ms": "CPU"}
"""What was measured of pages of the ledger; older figures lack the last."""


def _ledger_pages() -> str:
    found = kept("ledger_pages")
    if found is None:
        return ""
    first = next(iter(found["databases"]["SQLite"].values()))
    columns = [title for key, title in PAGE_TIMES.items() if key in first]
    rows = [["", "", "queries", *columns]]
    targets = []
    for database, measured in found["databases"].items():
        for name, seen in measured.items():
            figures = (seen[key] for key in PAGE_TIMES if key in seen)
            times = [f"{each:.0f} ms" for each in figures]
            rows.append([database, name, f"{seen['queries']}", *times])
        slowest = max(seen["median_ms"] for seen in measured.values())
        what = f"{database}, {found['entries']:,} entries: slowest median, ms"
        targets.append(target(what, slowest, 200, at_most=True))
    about = (
        "A ledger of the number of entries stated below, one in fifty not of a run. "
        "Views are called in process; times include templates and queries. CPU, if it "
        "was measured, is that of this process, SQLite's work included. "
    )
    return section("Ledger pages", about, rows, targets, found)


def _ledger_exports() -> str:
    found = kept("ledger_exports")
    if found is None:
        return ""
    rows = [["", "", "entries", "entries per s", "file", "memory added"]]
    for seen in found["exports"]:
        sizes = f"{seen['file_mib']:.0f} MiB", f"{seen['memory_added_mib']:.0f} MiB"
        speed = f"{seen['entries']:,}", f"{seen['entries_per_s']:,.0f}"
        rows.append([f"{seen['runs']:,} runs", seen["form"], *speed, *sizes])
    most = max(seen["memory_added_mib"] for seen in found["exports"])
    targets = [target("memory added at most, MiB", most, 64, at_most=True)]
    about = (
        "Whole ledgers with all texts, SQLite, each export in a process of its own: "
        "the most memory it took, less what it had at the beginning. "
    )
    exports = section("Ledger exports", about, rows, targets, found)
    return "\n".join(filter(None, (exports, _large_runs(found))))


def _large_runs(found: dict[str, Any]) -> str:
    rows = [["", "entries", "texts", "took", "CPU", "file", "memory added"]]
    for seen in found.get("large_runs", ()):
        sizes = [f"{seen[key]:.0f} MiB" for key in ("file_mib", "memory_added_mib")]
        rows.append(
            [
                f"{seen['run_rounds']} rounds of 64 steps",
                f"{seen['entries']:.0f}",
                f"{seen['texts_mib']:.0f} MiB",
                f"{seen['took_s']:.1f} s",
                f"{seen['cpu_s']:.1f} s",
                *sizes,
            ]
        )
    about = (
        "The record of one run with proofs, as a request makes it, SQLite: texts of "
        "10 kB, each step is sent three of them and calls a tool. Records with more "
        "than 32 MiB of texts are left to the background. Each the median of three. "
    )
    return section("Record of a large run", about, rows, [], found) if rows[1:] else ""


POLICY_COLUMNS = {
    "run_us": "before the run",
    "plan_us": "for its plan",
    "search_us": "the search",
    "gate_us": "the gate",
    "free_us": "the gate without rules",
}
"""What was measured of policies; older figures lack some."""


def _policy() -> str:
    found = kept("policy")
    if found is None:
        return ""
    shown = {
        name: words
        for name, words in POLICY_COLUMNS.items()
        if all(name in seen for seen in found["sizes"].values())
    }
    rows = [["Prompt, characters", *shown.values()]]
    rows += [
        [f"{int(size):,}", *(_micros(seen[name]) for name in shown)]
        for size, seen in found["sizes"].items()
    ]
    about = (
        f"A policy of {found['rules']} rules with conditions of all kinds, none of "
        "which ends the check. The words of a prompt are looked for once"
    )
    about += (
        ", and so is sensitive data, of built-in kinds and of own patterns. The gate "
        "is all that happens before a run: admission, facts, search and check. "
        if "gate_us" in shown
        else ". "
    )
    slowest = max(seen["plan_us"] for seen in found["sizes"].values()) / 1000
    goal = target("a plan against 50 rules, slowest, ms", slowest, 1, at_most=True)
    return section("Policy", about, rows, [goal], found)


def _micros(number: float) -> str:
    return f"{number:,.0f} µs" if number >= 10 else f"{number:.1f} µs"


def _evaluation() -> str:
    found = kept("evaluation")
    if found is None:
        return ""
    report, calls = found["report"], found["calls"]
    rows = [["What", "median", "p99"]]
    rows += [
        [
            f"direct calls {name}",
            f"{seen['median_ms']:.2f} ms",
            f"{seen['p99_ms']:.2f} ms",
        ]
        for name, seen in calls.items()
    ]
    rows.append(
        [
            f"report of {found['results']:,} results",
            f"{report['cpu_s']:.1f} s CPU",
            f"{report['memory_mib']:.0f} MiB",
        ]
    )
    about = (
        "Direct calls, one at a time, alone and beside an evaluation with "
        f"{found['in_flight']} runs in flight in the same process, whose model takes "
        "2 s. "
        "Of the report, its CPU time and the memory that it adds to its process. "
    )
    slower = calls["beside"]["median_ms"] / calls["alone"]["median_ms"]
    goals = [
        target("direct calls beside an evaluation, times", slower, 1.2, at_most=True),
        target("memory of the report, MiB", report["memory_mib"], 100, at_most=True),
        target("CPU time of the report, s", report["cpu_s"], 15, at_most=True),
    ]
    return section("Evaluations", about, rows, goals, found)


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
        f"{', '.join(pins)}, @portkey-ai/gateway (see bench/peers/package.json). Each "
        "has one process and one worker, production settings, and an environment of "
        "its own, and fetches nothing from other hosts.\n"
    )


if __name__ == "__main__":
    main()
