"""Says whether sandboxes can be made on this machine, and if not, what is missing."""

from __future__ import annotations

import os
import platform
import threading
from pathlib import Path

from apps.sandbox.running import sandbox_run
from apps.sandbox.syscall_filter import ARCHITECTURES
from apps.sandbox.types import (
    SandboxEnd,
    SandboxLimits,
    SandboxProgram,
    SandboxUnavailable,
)

SYSCTLS = Path("/proc/sys")
LOWEST_LINUX = (5, 14)
"""From it on, the limit of processes counts those of one sandbox alone."""
PROBE = """\
import os, socket, time
begun = 0
try:
    while begun < 64:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        begun += 1
except OSError:
    pass
try:
    socket.create_connection(("192.0.2.1", 9), 0.2)
except OSError:
    print(begun)
"""
"""Tries that the limit of processes holds, and that there is no network."""
PROBE_LIMITS = SandboxLimits(cpu_s=5, wall_s=20.0, processes=8)
_lock = threading.Lock()
_works = False


def sandbox_problem(sysctls: Path = SYSCTLS) -> str | None:
    """Return what keeps sandboxes from being made here; None: nothing does.

    Makes one, until one has worked: some 200 ms. Blocks: not for the event loop.
    """
    global _works
    if problem := _known_problem(sysctls):
        return problem
    with _lock:
        if _works:
            return None
        try:
            problem = _tried()
        except SandboxUnavailable as exc:
            problem = f"{exc}{_hint(sysctls)}"
        _works = problem is None
    return problem


def _tried() -> str | None:
    outcome = sandbox_run(
        {"probe.py": PROBE}, [SandboxProgram("probe.py")], PROBE_LIMITS
    )
    begun = outcome.output.strip()
    if outcome.end != SandboxEnd.COMPLETED or not begun.isdecimal():
        return (
            f"a program in a sandbox did not end well: {outcome.end} {outcome.detail}"
        )
    if int(begun) >= PROBE_LIMITS.processes:
        return "the limit of processes does not hold"
    return None


def _known_problem(sysctls: Path) -> str | None:
    """Return what can be told without trying."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux":
        return f"sandboxes need Linux, and this is {system}"
    if machine not in ARCHITECTURES:
        return f"sandboxes need {' or '.join(ARCHITECTURES)}, and this is {machine}"
    if linux_version(platform.release()) < LOWEST_LINUX:
        needed = ".".join(map(str, LOWEST_LINUX))
        return f"sandboxes need Linux {needed}, and this is {platform.release()}"
    for name in ("user/max_user_namespaces", "kernel/unprivileged_userns_clone"):
        is_free = name.startswith("kernel/") and os.geteuid() == 0
        if not is_free and _value(sysctls / name) == "0":
            return f"sysctl {name.replace('/', '.')} is 0"
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        return "/proc says nothing about the children of a process"
    return None


def linux_version(release: str) -> tuple[int, ...]:
    """Return the first two numbers of a release such as `6.1.0-13-amd64`."""
    numbers = release.replace("-", ".").split(".")[:2]
    return tuple(int(each) if each.isdecimal() else 0 for each in numbers)


def _hint(sysctls: Path) -> str:
    name = "kernel/apparmor_restrict_unprivileged_userns"
    if _value(sysctls / name) == "1":
        return f"; sysctl {name.replace('/', '.')} is 1"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "; the container must be allowed to make user namespaces and mounts"
    return ""


def _value(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
