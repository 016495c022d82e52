"""Reads documents in a process of their own. Blocks: not for the event loop."""

from __future__ import annotations

import json
import platform
import subprocess  # nosec B404
import sys
import threading
from pathlib import Path
from typing import Any

from apps.attachments.reading.bounds import WALL_S, Document, DocumentUnreadable
from apps.core.errors import Overloaded
from apps.sandbox.syscall_filter import ARCHITECTURES

READER = Path(__file__).with_name("reader.py")
PARALLEL = 2
"""Documents that one process of the site has read at the same time."""
_places = threading.BoundedSemaphore(PARALLEL)


def document_read(kind: str, content: bytes) -> Document:
    """Return what a document of a kind (`pdf` or `office`) says.

    Raises: DocumentUnreadable; Overloaded if too many others are being read.
    """
    if platform.system() != "Linux" or platform.machine() not in ARCHITECTURES:
        raise DocumentUnreadable("this site can't read documents: that needs Linux")
    if not _places.acquire(timeout=WALL_S):
        raise Overloaded("too many files are being read", retry_after_s=WALL_S)
    try:
        told = _read(kind, content)
    finally:
        _places.release()
    if "fault" in told:
        raise DocumentUnreadable(told["fault"])
    return Document(**told)


def _read(kind: str, content: bytes) -> dict[str, Any]:
    try:
        ended = subprocess.run(  # nosec B603
            [sys.executable, "-I", str(READER), kind],
            input=content,
            capture_output=True,
            env={},
            cwd="/",
            start_new_session=True,
            check=True,
            timeout=WALL_S,
        )
        told: dict[str, Any] = json.loads(ended.stdout)
    except subprocess.TimeoutExpired as exc:
        raise DocumentUnreadable("the document takes too long to read") from exc
    except subprocess.CalledProcessError as exc:
        # A signal: the limit of its time. Else it is a document that breaks the reader.
        why = "takes too long to read" if exc.returncode < 0 else "can't be read"
        raise DocumentUnreadable(f"the document {why}") from exc
    return told
