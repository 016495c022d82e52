"""Tasks whose answers are code that takes a while, for tests that kill its graders."""

from __future__ import annotations

from typing import Any

LEFT = "conductor-killed"
"""Begins the names of the files that the code of answers writes."""
PROGRAMS = (True, False, False, True, True, False, True, False)
"""Of each task of the suite of programs: whether its answer is right."""
SLOWEST = 4
"""Number of the program that takes SLOWEST_S; the others take a moment."""
SLOWEST_S = 20


def program_tasks() -> list[dict[str, Any]]:
    """Return the tasks, as a file has them. The worker `scripted` answers them."""
    return [_task(number, is_right) for number, is_right in enumerate(PROGRAMS)]


def _task(number: int, is_right: bool) -> dict[str, Any]:
    """Return a task whose answer is code that takes a while and writes files."""
    code = (
        "import time\n"
        'for folder in (".", "/tmp", "/dev/shm"):\n'
        f'    open(f"{{folder}}/{LEFT}", "w").close()\n'
        f"time.sleep({SLOWEST_S if number == SLOWEST else 0.2})\n"
        f"print({7 if is_right else 8})\n"
    )
    return {
        "id": str(number),
        "prompt": f"[[say ```python\n{code}```]]",
        "verifier": {
            "kind": "unit_tests",
            "cases": [{"output": "7"}],
            "memory_mb": 128,
        },
    }
