"""Writes a suite of simulated tasks, or prints the benchmark's reference figures.

`python -m apps.simulator.benchmark --tasks 120 --seed 7 --out suite.jsonl`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from apps.simulator.benchmark.suite import (
    SAMPLE_SEED,
    SAMPLE_TASKS,
    figures,
    json_lines,
)
from apps.simulator.benchmark.tasks import TooManyTasks


def main() -> None:
    """Read the arguments, then write the suite or print the figures."""
    parser = _parser()
    args = parser.parse_args()
    if args.figures:
        sys.stdout.write(f"{figures()}\n")
        return
    try:
        lines = list(json_lines(args.tasks, args.seed, args.training))
        args.out.write_bytes(b"".join(lines))
    except (TooManyTasks, OSError) as exc:
        parser.error(str(exc))
    sys.stdout.write(f"Wrote {len(lines)} simulated tasks to {args.out}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apps.simulator.benchmark",
        description="Write a suite of the simulated benchmark as JSON Lines.",
    )
    parser.add_argument("--tasks", type=_count, default=SAMPLE_TASKS)
    parser.add_argument(
        "--training", type=int, default=0, help="so many further tasks to train on"
    )
    parser.add_argument("--seed", type=int, default=SAMPLE_SEED)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="file to write")
    what.add_argument(
        "--figures",
        action="store_true",
        help="print the expected scores of the baselines instead",
    )
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("expected 1 or more")
    return value


if __name__ == "__main__":
    main()
