"""Runs of three steps: two independent ones and an aggregator, each from the ledger on.

The planner takes 50 ms and each worker 100 ms, so no run can take less than 250 ms.
`--peers` adds LangGraph with a durable checkpoint after each step.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench import competitors
from bench.figures import alternate, keep, say
from bench.servers import Server, conductor, load, upstream

CRITICAL_PATH_MS = 250.0
ROUNDS = 5
AT_ONCE = (100, 500)
ALONE = 8
"""Runs of a round with one at a time."""


def main() -> None:
    """Measure, and keep the figures."""
    with_peers = "--peers" in sys.argv
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        servers = {"Conductor": stack.enter_context(conductor(model_server))}
        missing = {}
        if with_peers:
            try:
                peer = stack.enter_context(competitors.langgraph(model_server))
                servers[peer.name] = peer
            except competitors.Unavailable as exc:
                missing["LangGraph"] = str(exc)
        for server in servers.values():
            load(server, "plan", in_flight=100, count=200)
        figures: dict[str, Any] = {
            "missing": missing,
            "rounds": ROUNDS,
            "critical_path_ms": CRITICAL_PATH_MS,
            **_measure(servers),
        }
    keep("engine-peers" if with_peers else "engine", figures)


def _measure(servers: dict[str, Server]) -> dict[str, Any]:
    say("engine, one run at a time")
    figures = {
        "1": alternate(
            servers,
            lambda name: load(servers[name], "plan", in_flight=1, count=ALONE),
            ROUNDS,
        )
    }
    for count in AT_ONCE:
        say(f"engine, {count} runs at once")
        figures[str(count)] = alternate(
            servers,
            partial(_burst, servers, count),
            ROUNDS,
        )
    return figures


def _burst(servers: dict[str, Server], count: int, name: str) -> Any:
    return load(servers[name], "plan", in_flight=count, count=count, warm_up=0)


if __name__ == "__main__":
    main()
