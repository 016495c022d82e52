"""Serves the site: `python -m conductor_site --port 8000`."""

from __future__ import annotations

import argparse
import os

from conductor_site.bootstrap import set_up
from conductor_site.serving.address import DEFAULT_PORT, note_served_address


def main() -> None:
    """Read the arguments and serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m conductor_site")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    args = parser.parse_args()
    note_served_address(args.host, args.port)
    set_up()
    from conductor_site.serving.server import serve  # needs what has just been set up

    # Forwarded addresses are believed only from the proxies the operator names.
    serve(
        host=args.host,
        port=args.port,
        proxies=os.environ.get("FORWARDED_ALLOW_IPS", ""),
    )


if __name__ == "__main__":
    main()
