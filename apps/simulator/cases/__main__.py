"""Writes the suite of a use case, or prints what is expected of each system on it.

`python -m apps.simulator.cases coding --out suite.jsonl`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from apps.simulator.cases.catalog import CASES
from apps.simulator.cases.figures import case_figures
from apps.simulator.cases.suite import case_lines


def main() -> None:
    """Read the arguments, then write the suite or print the figures."""
    parser = _parser()
    args = parser.parse_args()
    case = CASES[args.case]
    if args.figures:
        sys.stdout.write(f"{case_figures(case)}\n")
        return
    lines = list(case_lines(case))
    try:
        args.out.write_bytes(b"".join(lines))
    except OSError as exc:
        parser.error(str(exc))
    sys.stdout.write(f"Wrote {len(lines)} simulated tasks to {args.out}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m apps.simulator.cases",
        description="Write the suite of a use case as JSON Lines.",
    )
    parser.add_argument("case", choices=tuple(CASES))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, help="file to write")
    what.add_argument(
        "--figures",
        action="store_true",
        help="print the expected scores of the systems instead",
    )
    return parser


if __name__ == "__main__":
    main()
