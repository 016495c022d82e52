"""What a sandbox is given, and what became of it. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

MEGABYTE = 1 << 20


class SandboxUnavailable(Exception):
    """No sandbox can be made on this machine; says what is missing."""


class SandboxEnd(StrEnum):
    """How the programs of a sandbox ended."""

    COMPLETED = "completed"
    """By themselves, with exit code 0."""
    FAILED = "failed"
    """With another exit code, mostly by an exception."""
    CRASHED = "crashed"
    """By a signal, such as SIGSEGV."""
    TIMEOUT = "timeout"
    """They took too long, or too much of a processor."""
    MEMORY = "memory"
    OUTPUT = "output"
    """They wrote more than is read of them."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What the programs of one sandbox may use, all of them together if not said."""

    cpu_s: int = 10
    """Seconds of a processor, for each process."""
    wall_s: float = 21.0
    """Seconds from start to end, the start of the sandbox included."""
    memory_bytes: int = 1_024 * MEGABYTE
    """In all; and the address space of each process."""
    disk_bytes: int = 64 * MEGABYTE
    """Of all files; they are in memory."""
    file_bytes: int = 32 * MEGABYTE
    """Of one file."""
    files: int = 2_048
    """Files and folders."""
    open_files: int = 64
    """For each process. With the next one it bounds what the kernel buffers."""
    processes: int = 32
    """Processes and threads."""
    output_bytes: int = MEGABYTE
    """Of the output, and of the errors."""

    def values(self) -> dict[str, Any]:
        """Return the limits as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SandboxProgram:
    """A Python script of a sandbox, and its standard input."""

    script: str
    """Name of one of the files."""
    input: str = ""


@dataclass(frozen=True, slots=True)
class SandboxOutcome:
    """What became of the programs of a sandbox."""

    end: SandboxEnd
    detail: str = ""
    """The name of the signal, or the last line of the errors."""
    output: str = ""
    """Standard output of the first program."""
    report: str = ""
    """What the first program wrote to its report."""
    cpu_ms: int = 0
    wall_ms: int = 0
