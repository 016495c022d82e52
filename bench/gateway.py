"""`worker/<name>` against a model that answers at once: what the gateway itself costs.

Each competitor answers the same request from the same model server. All run at once,
but only one is asked at a time. `--peers` adds the LiteLLM proxy and Portkey.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench import competitors
from bench.figures import alternate, keep, say
from bench.servers import Server, conductor, load, upstream

ROUNDS = 5
SECONDS = 3.0
IN_FLIGHT = (32, 1)
WARM_UP_S = 3.0


def main() -> None:
    """Measure, and keep the figures."""
    with_peers = "--peers" in sys.argv
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        servers = {"Conductor": stack.enter_context(conductor(model_server))}
        missing = _add_peers(servers, stack, model_server) if with_peers else {}
        for server in servers.values():
            load(server, "instant", in_flight=32, seconds=WARM_UP_S)
        figures: dict[str, Any] = {"missing": missing, "rounds": ROUNDS}
        for in_flight in IN_FLIGHT:
            say(f"gateway, {in_flight} in flight")
            figures[str(in_flight)] = alternate(
                servers,
                partial(_round, servers, in_flight),
                ROUNDS,
            )
    keep("gateway-peers" if with_peers else "gateway", figures)


def _round(servers: dict[str, Server], in_flight: int, name: str) -> Any:
    return load(servers[name], "instant", in_flight=in_flight, seconds=SECONDS)


def _add_peers(
    servers: dict[str, Server], stack: ExitStack, model_server: Server
) -> dict[str, str]:
    missing = {}
    for start in (competitors.litellm, competitors.portkey):
        try:
            server = stack.enter_context(start(model_server))
            servers[server.name] = server
        except competitors.Unavailable as exc:
            missing[start.__name__] = str(exc)
    return missing


if __name__ == "__main__":
    main()
