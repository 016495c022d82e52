"""Executes background runs: `python -m conductor_site.worker`; `--beat`: reminds.

One event loop executes the runs, as in a web process. Celery takes the tasks in a
thread beside it, with its "solo" pool, for a task only hands a run over. The loop waits
for nothing of Celery's: without a broker the sweeps of the database find the runs.

On SIGTERM no more tasks are taken, runs may go on for WORKER_DRAIN_S, and those that
are left are given back for others to take up. A second signal gives them back at once,
a third one ends the process as it is.
"""

from __future__ import annotations

import argparse
import asyncio

import uvloop

from conductor_site.bootstrap import set_up


def main() -> None:
    """Read the arguments and work until stopped."""
    parser = argparse.ArgumentParser(prog="python -m conductor_site.worker")
    parser.add_argument(
        "--beat",
        action="store_true",
        help="only send the tasks that are due; one such process for the whole site",
    )
    args = parser.parse_args()
    set_up()
    from conductor_site import background  # needs what has just been set up

    if args.beat:
        background.beat()
    else:
        background.fork_writer()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(background.execute_runs())


if __name__ == "__main__":
    main()
