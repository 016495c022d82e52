"""The first process of a sandbox: makes its root, starts its programs, reaps them.

It is the product's own code and runs no other. When it ends, the kernel ends every
process of the sandbox. Its capabilities count inside of the sandbox alone, and keep
the programs, which have none, from looking into it. Standard library alone.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from apps.sandbox import system_calls as calls
from apps.sandbox.syscall_filter import filter_program

USER = 1000
"""The user and group of everything in a sandbox."""
FOLDER = "/sandbox"
"""Where the files of a job are, which can only be read."""
WORK = f"{FOLDER}/work"
"""The one folder that can be written to."""
NEW_ROOT = "/tmp"  # nosec B108
"""Where the new root is mounted; every machine has this folder."""
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
DEVICES = ("/dev/null", "/dev/random", "/dev/urandom")
"""Not /dev/zero: memory that is mapped from it is measured nowhere."""
WRITABLE = {"/tmp": "temporary", "/dev/shm": "shared"}  # nosec B108
"""Links of the sandbox to folders in the one that can be written to."""
ROOT_SIZE = 64 << 20
"""Bytes for the files of a job, and folders to attach others to."""
SECRET, REPORT, PEER = 3, 4, 5
"""Descriptors of programs: the secret, where the report goes, the other program."""
NO_CORE_FILE = 1
"""Byte. With 0, a program of the host that takes core files would still get one."""
ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "MPLBACKEND": "Agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PATH": "/usr/bin:/bin",
    "TMPDIR": f"{WORK}/temporary",
}


class Outside(NamedTuple):  # a dataclass takes longer to import than all the rest
    """Descriptors that the launcher made."""

    ready: int
    """Gets a byte as soon as users are mapped."""
    status: int
    """What became of the programs is written here."""
    output: int
    errors: int
    report: int


BEGUN = {"has_begun": True}
"""Said before the first program starts: from then on, what goes wrong is theirs."""


def first_process_run(job: Mapping[str, Any], outside: Outside) -> None:
    """Do the whole work of the first process; returns when the job has ended."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    calls.control(calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.read(outside.ready, 1) != b"+":
        return  # the launcher is gone
    try:
        _root_make(job)
        told = _programs_run(job, outside)
    except OSError as exc:
        where = f" {exc.filename}" if exc.filename else ""
        told = {"problem": f"{exc.strerror}{where}"}
    _say(outside.status, told)


def _say(status: int, told: Mapping[str, Any]) -> None:
    os.write(status, json.dumps(told).encode() + b"\n")


def _root_make(job: Mapping[str, Any]) -> None:
    """Make a small root of which nothing can be changed but one folder."""
    limits = job["limits"]
    socket.sethostname("sandbox")
    calls.mount("none", "/", calls.MS_REC | calls.MS_PRIVATE)
    # Copied while this process can still read what the site can.
    trees = [tree for path in (*LIBRARIES, *job["trees"]) for tree in _copied(path)]
    devices = [tree for path in DEVICES for tree in _copied(path, is_device=True)]
    _become_user(is_root=bool(job["is_root"]))
    _mount_memory(NEW_ROOT, ROOT_SIZE, 4_096, calls.MS_NOSUID | calls.MS_NODEV)
    for path, tree in (*trees, *devices):
        _attach(tree, NEW_ROOT + path)
    for path, target in {**_links(LIBRARIES), **job["links"]}.items():
        _link(target, NEW_ROOT + path)
    for name, text in job["files"].items():
        _write(f"{NEW_ROOT}{FOLDER}/{name}", text)
    _write(f"{NEW_ROOT}/etc/passwd", f"user:x:{USER}:{USER}::{WORK}:/nothing\n")
    work = NEW_ROOT + WORK
    os.mkdir(work)
    flags = calls.MS_NOSUID | calls.MS_NODEV | calls.MS_NOEXEC
    _mount_memory(work, limits["disk_bytes"], limits["files"], flags)
    for path, name in WRITABLE.items():
        os.mkdir(f"{work}/{name}")
        _link(f"{WORK}/{name}", NEW_ROOT + path)
    calls.root_change(NEW_ROOT)
    calls.mount_restrict("/", calls.ATTR_RDONLY | calls.ATTR_NOSUID | calls.ATTR_NODEV)


def _copied(path: str, *, is_device: bool = False) -> list[tuple[str, int]]:
    """Return a read-only copy of the mounts at a path; nothing: it is not there."""
    if not os.path.exists(path) or (os.path.islink(path) and path in LIBRARIES):
        return []
    tree = calls.tree_copy(path)
    last = calls.ATTR_NOEXEC if is_device else calls.ATTR_NODEV
    calls.tree_restrict(tree, calls.ATTR_RDONLY | calls.ATTR_NOSUID | last)
    return [(path, tree)]


def _links(paths: Sequence[str]) -> dict[str, str]:
    return {path: os.readlink(path) for path in paths if os.path.islink(path)}


def _become_user(*, is_root: bool) -> None:
    if is_root:  # without that right, the groups stay; none owns what is in the root
        os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    # A change of user had cleared both.
    calls.control(calls.PR_SET_PDEATHSIG, signal.SIGKILL)
    calls.control(calls.PR_SET_DUMPABLE, 0)


def _mount_memory(target: str, size: int, files: int, flags: int) -> None:
    options = f"size={size},nr_inodes={files},mode=755,uid={USER},gid={USER}"
    calls.mount("tmpfs", target, flags, options)


def _attach(tree: int, target: str) -> None:
    if os.path.isdir(f"/proc/self/fd/{tree}"):
        os.makedirs(target, exist_ok=True)
    else:
        _write(target, "")
    calls.tree_attach(tree, target)
    os.close(tree)


def _link(target: str, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with suppress(FileExistsError):
        os.symlink(target, path)


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)


def _programs_run(job: Mapping[str, Any], outside: Outside) -> dict[str, Any]:
    """Start the programs; return what became of them when the first has ended."""
    _say(outside.status, BEGUN)
    programs = job["programs"]
    ends = socket.socketpair() if len(programs) > 1 else ()
    started = []
    for place, program in enumerate(programs):
        channels = {0: _input(program["input"])}
        if place == 0:
            channels |= {1: outside.output, 2: outside.errors}
            if job["secret"]:
                channels |= {SECRET: _secret(job["secret"]), REPORT: outside.report}
        if ends:
            channels[PEER] = ends[place].fileno()
        started.append(_start(job, program, channels, outside.status))
    for end in ends:
        end.close()  # the death of one program must be seen by the other
    ended: dict[int, int] = {}
    while started[0] not in ended:
        process, status = os.waitpid(-1, 0)
        ended[process] = status
    for process in started[1:]:
        if process not in ended:
            ended |= _end(process, job["limits"]["cpu_s"])
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "statuses": [ended.get(process) for process in started],
        "cpu_ms": round((used.ru_utime + used.ru_stime) * 1_000),
    }


def _end(process: int, cpu_s: int) -> dict[int, int]:
    """End a program; return its status if it was ending by itself, else nothing.

    A limit may have ended it whose death the first program saw before this process.
    """
    os.kill(process, signal.SIGKILL)
    _, status, used = os.wait4(process, 0)
    has_used_all = used.ru_utime + used.ru_stime >= cpu_s
    if os.waitstatus_to_exitcode(status) == -signal.SIGKILL and not has_used_all:
        return {}
    return {process: status}


def _input(text: str) -> int:
    """Return a file of its own in memory that holds a program's input."""
    file = os.memfd_create("input")
    content = memoryview(text.encode(errors="replace"))
    while content:
        content = content[os.write(file, content) :]
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _secret(text: str) -> int:
    """Return a pipe that holds the secret until a program reads it."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return reading


def _start(
    job: Mapping[str, Any],
    program: Mapping[str, Any],
    channels: Mapping[int, int],
    status: int,
) -> int:
    process = os.fork()
    if process:
        return process
    try:
        _become_program(job, program, channels)
    except (OSError, ValueError) as exc:
        _say(status, {"problem": str(exc)})
    finally:
        os._exit(127)


def _become_program(
    job: Mapping[str, Any], program: Mapping[str, Any], channels: Mapping[int, int]
) -> None:
    """Turn this process into a program without rights, and with limits. Never returns.

    Raises: OSError, ValueError if a limit cannot be set.
    """
    os.setsid()
    os.umask(0o077)
    os.chdir(WORK)
    _channels_place(channels)
    python = job["python"]
    command = [python, "-I", "-X", "utf8", f"{FOLDER}/{program['script']}"]
    filtered = filter_program(calls.MACHINE)
    calls.control(calls.PR_SET_NO_NEW_PRIVS, 1)
    calls.capabilities_drop()
    _limits_set(job["limits"])
    calls.filter_install(filtered)
    os.execve(python, command, ENVIRONMENT)  # nosec B606


def _channels_place(channels: Mapping[int, int]) -> None:
    """Give the descriptors their numbers, and close all others."""
    highest = PEER + 1 + max(channels.values())
    nothing = os.open(os.devnull, os.O_RDWR)
    given = {0: nothing, 1: nothing, 2: nothing, **channels}
    moved = {number: highest + number for number in given}
    for number, descriptor in given.items():
        os.dup2(descriptor, moved[number], inheritable=False)
    os.closerange(0, highest)
    for number, descriptor in moved.items():
        os.dup2(descriptor, number, inheritable=True)


def _limits_set(limits: Mapping[str, int]) -> None:
    values = {
        resource.RLIMIT_AS: (limits["memory_bytes"],) * 2,
        resource.RLIMIT_CORE: (NO_CORE_FILE,) * 2,
        # The first ends the program, the second one that goes on all the same.
        resource.RLIMIT_CPU: (limits["cpu_s"], limits["cpu_s"] + 1),
        resource.RLIMIT_FSIZE: (limits["file_bytes"],) * 2,
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
        resource.RLIMIT_NOFILE: (limits["open_files"],) * 2,
        resource.RLIMIT_NPROC: (limits["processes"],) * 2,
    }
    for name, value in values.items():
        resource.setrlimit(name, value)
