"""Tells this process's job threads of a new job, so that it begins at once."""

from __future__ import annotations

import threading
from weakref import WeakSet

_listening: WeakSet[threading.Event] = WeakSet()
_lock = threading.Lock()


def job_news() -> threading.Event:
    """Return an event that is set whenever a job of this process is committed."""
    event = threading.Event()
    with _lock:
        _listening.add(event)
    return event


def job_news_send() -> None:
    """Set the event of every thread that listens."""
    with _lock:
        events = list(_listening)
    for event in events:
        event.set()
