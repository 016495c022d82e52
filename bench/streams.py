"""200 streams at once of 50 tokens/s each: how late a token is, and whether all come.

Each token is the time at which the model server sent it, so the client knows its delay.
The same client on the model server itself shows what the instrument adds.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench.figures import alternate, keep, say
from bench.servers import conductor, load, upstream

ROUNDS = 5
STREAMS = 200
TOKENS = 200


def main() -> None:
    """Measure, and keep the figures."""
    with ExitStack() as stack:
        model_server = stack.enter_context(upstream())
        site = stack.enter_context(conductor(model_server))
        servers = {site.name: site, model_server.name: model_server}
        load(site, "instant", in_flight=STREAMS, seconds=2.0)
        say(f"{STREAMS} streams")
        figures = alternate(
            servers,
            lambda name: load(
                servers[name],
                "clock",
                "streams",
                in_flight=STREAMS,
                tokens=TOKENS,
                body={"stream": True},
            ),
            ROUNDS,
        )
    keep("streams", {"rounds": ROUNDS, **figures})


if __name__ == "__main__":
    main()
