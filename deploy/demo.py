"""Starts the demo: database, simulated models and the site, until Ctrl-C.

Run by `make demo`. Everything lives in `var/`, the log of the site and of the models as
`demo.log`; nothing listens beyond this machine.
`PORT` and `SIMULATOR_PORT` name the ports; 0 stands for any free one.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from deploy.site_processes import (
    ROOT,
    STOPPING,
    any_free_port,
    ignore_signals,
    is_free,
    manage,
    start,
    stop,
    wait_until_ready,
)

KEY_PREFIX = "CONDUCTOR_DEMO_"
"""Begins the names of variables that hold keys; see `demo/real_models.py`."""
LOG_TAIL_BYTES = 8_000
"""Part of the log that is shown when a process ended on its own."""


def main() -> int:
    """Prepare, start both processes, wait; end both when one ends."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    port = int(os.environ.get("PORT", "8000")) or any_free_port()
    if not is_free(port):
        print(f"Port {port} is taken. Choose another one: make demo PORT=8001")
        return 1
    wanted = int(os.environ.get("SIMULATOR_PORT", "8100"))
    simulator_port = _free_port(wanted, taken=port)
    url = f"http://127.0.0.1:{port}"
    given = {**os.environ, "CONDUCTOR_URL": url, "CONDUCTOR_DEMO": "true"}
    # Providers' keys are for the preparation alone.
    environment = {k: v for k, v in given.items() if not k.startswith(KEY_PREFIX)}
    simulator_url = f"http://127.0.0.1:{simulator_port}"
    migrate = manage("migrate", "--verbosity", "0")
    subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
    processes: list[subprocess.Popen[bytes]] = []
    log_path = Path(os.environ.get("CONDUCTOR_VAR_DIR") or ROOT / "var") / "demo.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log_path.open("wb") as log:
            for program, at in (
                ("apps.simulator", simulator_port),
                ("conductor_site", port),
            ):
                arguments = ["-m", program, "--port", str(at)]
                processes.append(start(arguments, environment, log))
        ready = f"{simulator_url}/healthz", f"{url}/healthz"
        if not all(wait_until_ready(address, processes) for address in ready):
            _show_end(log_path)
            return 1
        prepare = manage("demo_prepare", "--simulator-url", f"{simulator_url}/v1")
        subprocess.run(prepare, cwd=ROOT, env=given, check=True)
        # They end while people look around.
        processes.append(start(["-m", "deploy.demo_runs", url], environment))
        print(f"  The log is {log_path}. Press Ctrl-C to stop.", flush=True)
        while all(process.poll() is None for process in processes[:2]):
            time.sleep(0.3)
        print("A process ended on its own; stopping the other one.")
        _show_end(log_path)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        stop(processes)


def _show_end(log: Path) -> None:
    """Print the end of the log, which says why a process ended."""
    print(log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace"))
    print(f"The whole log is {log}.")


def interrupt(*_: object) -> NoReturn:
    """Begin to stop; a handler of signals."""
    # A signal often comes twice, once through make: the second must not cut short what
    # the first one began.
    ignore_signals()
    raise KeyboardInterrupt


def _free_port(wanted: int, *, taken: int) -> int:
    """Return the wanted port, or any other one if that is 0, taken or in use."""
    if wanted and wanted != taken and is_free(wanted):
        return wanted
    return any_free_port()


if __name__ == "__main__":
    for number in STOPPING:
        signal.signal(number, interrupt)
    sys.exit(main())
