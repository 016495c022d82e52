"""Trains the demo's light planner, measures it, and writes both to `deploy/demo_files`.

    python -m deploy.demo_measure

It takes three minutes on two cores, on a site of its own that is removed afterwards.
Tasks, workers and plans are drawn by seeds; the order in which parallel runs end is
not, so another run learns a slightly different planner (`docs/training.md` says how
much). The demo imports what is written here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from deploy.site_processes import ROOT, any_free_port, manage, start, stop
from deploy.site_processes import wait_until_ready as is_ready


def main() -> int:
    """Start a site whose demo is untrained, and measure it there."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="demo-measure-") as folder:
        port, simulator_port = any_free_port(), any_free_port()
        site = f"http://127.0.0.1:{port}"
        simulator = f"http://127.0.0.1:{simulator_port}"
        environment = {
            **os.environ,
            "CONDUCTOR_VAR_DIR": folder,
            "CONDUCTOR_URL": site,
            "DATABASE_URL": "",
            "REDIS_URL": "",
        }

        def run(*arguments: str) -> None:
            line = manage(*arguments)
            subprocess.run(line, cwd=ROOT, env=environment, check=True)

        run("migrate", "--verbosity", "0")
        processes: list[subprocess.Popen[bytes]] = []
        try:
            with (Path(folder) / "site.log").open("wb") as log:
                for module, at in (
                    ("apps.simulator", simulator_port),
                    ("conductor_site", port),
                ):
                    line = ["-m", module, "--port", str(at)]
                    processes.append(start(line, environment, log))
            ready = (f"{simulator}/healthz", f"{site}/healthz")
            if not all(is_ready(address, processes) for address in ready):
                return 1
            run("demo_prepare", "--untrained", "--simulator-url", f"{simulator}/v1")
            run("demo_measure")
            return 0
        finally:
            stop(processes)


if __name__ == "__main__":
    sys.exit(main())
