"""Runs the simulator as its own process: `python -m apps.simulator --port 8100`."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn

from apps.simulator.app import create_app
from apps.simulator.tiny_conductor.serving import SHIPPED, TinyConductor

GRACE_S = 1
"""Time for open answers on shutdown; stalled ones would hold it for ever."""


def main() -> None:
    """Read the arguments and serve until stopped."""
    args = _arguments()
    app = create_app(
        speed=args.speed,
        seed=args.seed,
        api_key=args.api_key,
        tiny_conductor=TinyConductor(args.weights),
    )
    uvicorn.run(
        app,
        host=args.host,
        port=args.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=GRACE_S,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m apps.simulator",
        description="Serve simulated models as OpenAI, Anthropic and Gemini do.",
    )
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument(
        "--speed",
        type=_speed,
        default=1.0,
        help="multiplies the pace of every model; 0: nothing waits",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="decides which questions workers get wrong"
    )
    parser.add_argument(
        "--api-key", default="", help="require this key of every caller"
    )
    parser.add_argument(
        "--weights",
        type=Path,
        default=SHIPPED,
        help="of tiny-conductor, a file that `python -m "
        "apps.simulator.tiny_conductor.pack FOLDER` has written",
    )
    return parser.parse_args()


def _speed(text: str) -> float:
    value = float(text)
    if value < 0:
        raise argparse.ArgumentTypeError("expected 0 or more")
    return value


if __name__ == "__main__":
    main()
