"""Starts the demo: database, simulated models and the site, until Ctrl-C.

Run by `make demo`. Everything lives in `var/`, the log of the site and of the models as
`demo.log`; nothing listens beyond this machine.
`PORT` and `SIMULATOR_PORT` name the ports; 0 stands for any free one.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
READY_S = 60.0
LOG_TAIL_BYTES = 8_000
"""Part of the log that is shown when a process ended on its own."""
STOPPING = (signal.SIGINT, signal.SIGTERM)


def main() -> int:
    """Prepare, start both processes, wait; end both when one ends."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    port = int(os.environ.get("PORT", "8000")) or _any_free_port()
    if not _is_free(port):
        print(f"Port {port} is taken. Choose another one: make demo PORT=8001")
        return 1
    wanted = int(os.environ.get("SIMULATOR_PORT", "8100"))
    simulator_port = _free_port(wanted, taken=port)
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "CONDUCTOR_URL": url}
    simulator_url = f"http://127.0.0.1:{simulator_port}"
    migrate = _manage("migrate", "--verbosity", "0")
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
                processes.append(_start(arguments, environment, log))
        ready = f"{simulator_url}/healthz", f"{url}/healthz"
        if not all(_wait_until_ready(address, processes) for address in ready):
            _show_end(log_path)
            return 1
        prepare = _manage("demo_prepare", "--simulator-url", f"{simulator_url}/v1")
        subprocess.run(prepare, cwd=ROOT, env=environment, check=True)
        # They end while people look around.
        processes.append(_start(["-m", "deploy.demo_runs", url], environment))
        print(f"  The log is {log_path}. Press Ctrl-C to stop.", flush=True)
        while all(process.poll() is None for process in processes[:2]):
            time.sleep(0.3)
        print("A process ended on its own; stopping the other one.")
        _show_end(log_path)
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        _stop(processes)


def _manage(*arguments: str) -> list[str]:
    return [sys.executable, "manage.py", *arguments]


def _start(
    arguments: list[str], environment: dict[str, str], log: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    # Their own sessions: Ctrl-C reaches this process alone, which stops them in order.
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def _show_end(log: Path) -> None:
    """Print the end of the log, which says why a process ended."""
    print(log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace"))
    print(f"The whole log is {log}.")


def interrupt(*_: object) -> NoReturn:
    """Begin to stop; a handler of signals."""
    # A signal often comes twice, once through make: the second must not cut short what
    # the first one began.
    _ignore_signals()
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    _ignore_signals()
    for process in reversed(processes):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_ready(url: str, processes: list[subprocess.Popen[bytes]]) -> bool:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        if any(process.poll() is not None for process in processes):
            print("A process ended while starting; its messages:")
            return False
        try:
            with urllib.request.urlopen(url, timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    print(f"{url} did not answer within {READY_S:.0f} s")
    return False


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port(wanted: int, *, taken: int) -> int:
    """Return the wanted port, or any other one if that is 0, taken or in use."""
    if wanted and wanted != taken and _is_free(wanted):
        return wanted
    return _any_free_port()


def _any_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    for number in STOPPING:
        signal.signal(number, interrupt)
    sys.exit(main())
