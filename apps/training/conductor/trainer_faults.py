"""Says how a trainer's process ended, without a word of what it printed.

Its last lines may quote prompts, and the words here go into the row and the ledger. So
of its log only the type of an exception is read, and only one of known names.
"""

from __future__ import annotations

import builtins
import re
import signal
from contextlib import suppress
from pathlib import Path

from apps.training.conductor.packages import KNOWN

LOG = "trainer.log"
"""What a trainer printed, in the folder of its training."""
READ_BYTES = 64 << 10
"""Of the end of a log."""
TRACEBACK = "Traceback (most recent call last):"
NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*){0,6})(?::|$)")
OUT_OF_MEMORY = ("MemoryError", "OutOfMemoryError")
MISSING = ("ImportError", "ModuleNotFoundError")


def process_fault(code: int, log: Path) -> str:
    """Return how a process ended, from its exit code and the end of its log."""
    if code < 0:
        return _by_signal(-code)
    how = f"the trainer ended with exit status {code}"
    found = _exception(log)
    if not found:
        return how
    name = found.rpartition(".")[2]
    if name in OUT_OF_MEMORY:
        return (
            f"the trainer had not enough memory ({found}): take a smaller micro-batch, "
            "the method lora, or a larger machine"
        )
    if name in MISSING:
        return (
            f"a package is missing where the trainer runs ({found}): install "
            "requirements/gpu-train.txt there (docs/training.md)"
        )
    return f"{how} ({found})"


def _by_signal(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    how = f"the trainer was ended by the signal {name}"
    if number != signal.SIGKILL:
        return how
    return f"{how}, as a system does where its memory runs out"


def _exception(log: Path) -> str:
    """Return the type of the newest exception in a log; empty: none that is known."""
    text = ""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - READ_BYTES))
        text = file.read().decode(errors="replace")
    _, found, after = text.rpartition(f"{TRACEBACK}\n")
    if not found:
        return ""
    lines = (line for line in after.splitlines() if not line.startswith(" "))
    match = NAME.match(next(lines, ""))
    return match[1] if match and _is_known(match[1]) else ""


def _is_known(name: str) -> bool:
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return True
    return "." in name and name.partition(".")[0] in KNOWN
