"""Starts one sandbox and watches it from outside: `python -I -S launcher.py`.

Reads a job as JSON from standard input, writes what became of it as JSON to standard
output. A process of its own, because the site has threads and must not fork. When the
reader of its output is gone, it ends the sandbox. Standard library alone.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # with -I, nothing of the product can be imported yet
    sys.path.append(str(Path(__file__).resolve().parents[2]))

from apps.sandbox import system_calls as calls
from apps.sandbox.first_process import BEGUN, USER, Outside, first_process_run

NOBODY = 65_534
"""Who a sandbox is outside of it if root starts it: limits do not count for root."""
LOOK_S = 0.02
"""Seconds between two looks at memory and output."""
OWN_MEMORY = re.compile(r"^(?:RssAnon|VmSwap):\s+(\d+)", re.MULTILINE)
KILOBYTE = 1_024
NICENESS = 5
MAX_STATUS = 65_536


def main() -> None:
    """Run the job of standard input."""
    job = json.loads(sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(launch(job)))


def launch(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run a job in a sandbox; return what became of it, or `problem`."""
    output, errors, report = (os.memfd_create(name) for name in ("out", "err", "told"))
    ready, is_ready = os.pipe()
    status, writing = os.pipe()
    os.nice(NICENESS)
    with suppress(OSError):  # if memory gets scarce, this goes first
        Path("/proc/self/oom_score_adj").write_text("1000")
    try:
        first = calls.clone_process(calls.NAMESPACES)
    except OSError as exc:
        return {"problem": f"no namespaces: {exc.strerror}"}
    if first == 0:
        os.close(is_ready)
        os.close(status)
        try:
            first_process_run(job, Outside(ready, writing, output, errors, report))
        finally:
            os._exit(0)
    os.close(writing)
    begun = time.monotonic()
    try:
        _users_map(first, is_root=bool(job["is_root"]))
        os.write(is_ready, b"+")
        end = _watch(first, job["limits"], status, (output, errors))
    except OSError as exc:
        end = {"problem": str(exc)}
    finally:
        os.kill(first, signal.SIGKILL)
        os.waitpid(first, 0)
    most = job["limits"]["output_bytes"]
    return {
        **end,
        "wall_ms": round((time.monotonic() - begun) * 1_000),
        "output": _content(output, most),
        "errors": _content(errors, most),
        "report": _content(report, most),
    }


def _users_map(process: int, *, is_root: bool) -> None:
    """Say who the sandbox's one user is outside: this user, or nobody for root."""
    folder = Path(f"/proc/{process}")
    if not is_root:
        (folder / "setgroups").write_text("deny")
    user, group = (NOBODY, NOBODY) if is_root else (os.geteuid(), os.getegid())
    try:
        (folder / "uid_map").write_text(f"{USER} {user} 1")
        (folder / "gid_map").write_text(f"{USER} {group} 1")
    except OSError as exc:
        raise OSError(f"users cannot be mapped: {exc.strerror}") from exc


def _watch(
    process: int, limits: Mapping[str, Any], status: int, outputs: tuple[int, int]
) -> dict[str, Any]:
    """Wait until the job has ended or passes a limit; return how."""
    poll = select.poll()
    poll.register(status, select.POLLIN)
    poll.register(1, 0)
    deadline = time.monotonic() + limits["wall_s"]
    has_begun = False
    while True:
        for descriptor, _ in poll.poll(LOOK_S * 1_000):
            if descriptor == 1:
                return {"problem": "nobody waits for it any more"}
            lines = os.read(status, MAX_STATUS).splitlines()
            if lines and json.loads(lines[0]) == BEGUN:
                has_begun, lines = True, lines[1:]
                if not lines:
                    continue
            # A program that could not begin says so in a line before the last one.
            ended = json.loads(lines[0]) if lines else _ended_early(has_begun)
            return _with_limits(ended, limits, outputs)
        if time.monotonic() > deadline:
            return {"limit": "timeout"}
        if _is_too_long(outputs, limits):
            return {"limit": "output"}
        if _memory_below(process) > limits["memory_bytes"]:
            return {"limit": "memory"}


def _ended_early(has_begun: bool) -> dict[str, Any]:
    """Return why the first process ended without a word: programs can bring it down."""
    return {"limit": "crashed"} if has_begun else {"problem": "it ended early"}


def _with_limits(
    ended: dict[str, Any], limits: Mapping[str, Any], outputs: tuple[int, int]
) -> dict[str, Any]:
    return {**ended, "limit": "output"} if _is_too_long(outputs, limits) else ended


def _is_too_long(outputs: tuple[int, int], limits: Mapping[str, Any]) -> bool:
    return any(os.fstat(each).st_size > limits["output_bytes"] for each in outputs)


def _memory_below(process: int) -> int:
    """Return the memory of all descendants of a process.

    In bytes. What is gone meanwhile counts as 0. Files are not part of it: those in
    memory have a limit of their own, and other shared memory is refused.
    """
    total = 0
    with suppress(OSError, ValueError):
        for children in Path(f"/proc/{process}").glob("task/*/children"):
            for child in map(int, children.read_text().split()):
                total += _memory_of(child) + _memory_below(child)
    return total


def _memory_of(process: int) -> int:
    """Return the memory that is no file's, swapped out parts included."""
    with suppress(OSError):
        text = Path(f"/proc/{process}/status").read_text()
        return sum(int(size) for size in OWN_MEMORY.findall(text)) * KILOBYTE
    return 0


def _content(file: int, most: int) -> str:
    return os.pread(file, most, 0).decode(errors="replace")


if __name__ == "__main__":
    main()
