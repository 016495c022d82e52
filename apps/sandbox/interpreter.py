"""Which Python the code in a sandbox runs with, and which files that needs."""

from __future__ import annotations

import json
import os
import subprocess  # nosec B404
import sys
from dataclasses import dataclass
from functools import lru_cache

from apps.sandbox.first_process import LIBRARIES
from apps.sandbox.types import SandboxUnavailable

QUESTION = (
    "import json, sys; "
    "print(json.dumps([sys.prefix, sys.base_prefix, list(sys.version_info[:2])]))"
)
ANSWER_S = 30
LOWEST = (3, 11)


@dataclass(frozen=True, slots=True)
class SandboxPython:
    """A Python interpreter with its packages."""

    path: str
    trees: tuple[str, ...]
    """Folders and files that it needs, apart from the system's libraries."""
    links: dict[str, str]
    """Symbolic links that lead to it."""


def sandbox_python(path: str) -> SandboxPython:
    """Return the interpreter at `path`; empty: the site's, without its packages.

    Raises: SandboxUnavailable if there is none, or an old one.
    """
    return _found(path or getattr(sys, "_base_executable", "") or sys.executable)


@lru_cache(maxsize=8)
def _found(path: str) -> SandboxPython:
    try:
        told = subprocess.run(  # nosec B603
            [path, "-I", "-c", QUESTION],
            env={},
            capture_output=True,
            check=True,
            timeout=ANSWER_S,
        ).stdout
        prefix, base, version = json.loads(told)
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        raise SandboxUnavailable(f"SANDBOX_PYTHON={path!r} cannot be run") from exc
    if tuple(version) < LOWEST:
        needed = ".".join(map(str, LOWEST))
        raise SandboxUnavailable(f"SANDBOX_PYTHON={path!r} is older than {needed}")
    real = os.path.realpath(path)
    folders = [f"{each}/{name}" for each in (base, prefix) for name in ("lib", "lib64")]
    wanted = [*folders, f"{prefix}/pyvenv.cfg", real]
    # A venv's lib64 is a link to its lib.
    links = {each: os.readlink(each) for each in folders if os.path.islink(each)}
    trees = [
        each for each in wanted if os.path.exists(each) and not os.path.islink(each)
    ]
    if path != real:
        links[path] = real
    return SandboxPython(path, _without_nested(trees), links)


def _without_nested(trees: list[str]) -> tuple[str, ...]:
    """Leave out what lies in another one of them, or in the system's libraries."""
    present = {each for each in LIBRARIES if not os.path.islink(each)} | set(trees)
    nested = {
        each
        for each in trees
        for other in present
        if each.startswith(f"{other}/") or each in LIBRARIES
    }
    return tuple(dict.fromkeys(each for each in trees if each not in nested))
