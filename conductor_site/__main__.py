"""Serves the site: `python -m conductor_site --port 8000`."""

from __future__ import annotations

import argparse
import os

import uvicorn

from apps.audit.scribe import fork_scribe
from conductor_site.asgi import application
from conductor_site.protocol import JoiningProtocol

GRACE_S = 10
"""Time for open answers when the process is asked to stop."""


def main() -> None:
    """Read the arguments and serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m conductor_site")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    fork_scribe()
    uvicorn.run(
        application,
        host=args.host,
        port=args.port,
        access_log=False,
        log_level="warning",
        # A stream's client must notice within seconds that the process stops.
        timeout_graceful_shutdown=GRACE_S,
        ws_max_size=65_536,
        http=JoiningProtocol,
        lifespan="on",  # "auto" would serve on after a failed start, without a word
        # Forwarded addresses are believed only from the proxies the operator names.
        proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,
        server_header=False,
    )


if __name__ == "__main__":
    main()
