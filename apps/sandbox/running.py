"""Runs programs in a sandbox, from the site's side. Blocks: not for the event loop."""

from __future__ import annotations

import json
import os
import signal
import subprocess  # nosec B404
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.sandbox.interpreter import sandbox_python
from apps.sandbox.types import (
    SandboxEnd,
    SandboxLimits,
    SandboxOutcome,
    SandboxProgram,
    SandboxUnavailable,
)

LAUNCHER = Path(__file__).with_name("launcher.py")
PROGRAMS = Path(__file__).with_name("programs")
SPARE_S = 30.0
FROM_WITHIN = "the sandbox was ended from within"
"""Seconds that the launcher has beyond the time of its programs."""
MEMORY_ERROR = "MemoryError"


@cache
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(max(1, settings.SANDBOX_PARALLEL))


@cache
def program_file(name: str) -> str:
    """Return one of the product's own programs for sandboxes."""
    return (PROGRAMS / name).read_text(encoding="utf-8")


def sandbox_run(
    files: Mapping[str, str],
    programs: Sequence[SandboxProgram],
    limits: SandboxLimits,
    *,
    secret: str = "",
) -> SandboxOutcome:
    """Run programs in a sandbox of their own, once there is room for one.

    The first program gets the secret in a pipe, and the job ends with it; a second one
    is connected to the first. Raises: SandboxUnavailable if no sandbox can be made.
    """
    python = sandbox_python(settings.SANDBOX_PYTHON)
    job = {
        "python": python.path,
        "trees": python.trees,
        "links": python.links,
        "files": dict(files),
        "programs": [{"script": each.script, "input": each.input} for each in programs],
        "secret": secret,
        "is_root": os.geteuid() == 0,
        "limits": limits.values(),
    }
    with _places():
        told = _launch(json.dumps(job).encode(), limits.wall_s + SPARE_S)
    if "problem" in told:
        raise SandboxUnavailable(told["problem"])
    return _outcome(told, limits)


def _launch(job: bytes, timeout_s: float) -> dict[str, Any]:
    """Run the launcher, with nothing of this process but its input and output."""
    try:
        ended = subprocess.run(  # nosec B603
            [sys.executable, "-I", "-S", str(LAUNCHER)],
            input=job,
            capture_output=True,
            env={},
            cwd="/",
            start_new_session=True,
            check=True,
            timeout=timeout_s,
        )
        told: dict[str, Any] = json.loads(ended.stdout)
    except subprocess.CalledProcessError as exc:
        why = exc.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        raise SandboxUnavailable(f"the launcher failed: {why[:200]}") from exc
    except (OSError, ValueError, subprocess.TimeoutExpired) as exc:
        raise SandboxUnavailable(f"the launcher failed: {exc!r:.200}") from exc
    return told


def _outcome(told: Mapping[str, Any], limits: SandboxLimits) -> SandboxOutcome:
    end, detail = _end(told, limits)
    return SandboxOutcome(
        end,
        detail,
        told["output"],
        told["report"],
        told.get("cpu_ms", 0),
        told["wall_ms"],
    )


def _end(told: Mapping[str, Any], limits: SandboxLimits) -> tuple[SandboxEnd, str]:
    if limit := told.get("limit"):
        is_crash = limit == SandboxEnd.CRASHED
        return SandboxEnd(limit), FROM_WITHIN if is_crash else ""
    codes = [
        os.waitstatus_to_exitcode(status)
        for status in told["statuses"]
        if status is not None
    ]
    if codes[0] == 0:
        return SandboxEnd.COMPLETED, ""
    # Of two programs, the one that a signal ended is why the other failed.
    code = min(codes)
    if code < 0:
        number = -code
        has_used_all = told["cpu_ms"] >= limits.cpu_s * 1_000
        if number == signal.SIGXCPU or (number == signal.SIGKILL and has_used_all):
            return SandboxEnd.TIMEOUT, ""
        return SandboxEnd.CRASHED, _signal_name(number)
    last = told["errors"].strip().rsplit("\n", 1)[-1].strip()
    if last.startswith(MEMORY_ERROR):
        return SandboxEnd.MEMORY, ""
    return SandboxEnd.FAILED, last


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
