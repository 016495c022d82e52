"""Speaks with the site over stdin and stdout (apps/training/conductor/protocol.py)."""

from __future__ import annotations

import os
import sys
import threading
from queue import SimpleQueue
from typing import TextIO

from apps.training.conductor.protocol import (
    ProtocolError,
    Rollouts,
    SiteMessage,
    Stop,
    TrainerMessage,
    line_of,
    site_message,
)


class StopAskedError(Exception):
    """The site wants the training to stop, or is gone, while something waits for it."""


class Speech:
    """Both directions. A site that closes its end wants the training to stop."""

    def __init__(self, reader: TextIO, writer: TextIO) -> None:
        self._writer = writer
        self._heard: SimpleQueue[SiteMessage | ProtocolError] = SimpleQueue()
        self._stop = threading.Event()
        # A thread of Python cannot be taken out of a read: it ends with the process.
        threading.Thread(target=self._listen, args=(reader,), daemon=True).start()

    @property
    def should_stop(self) -> bool:
        """Whether to end at the next step."""
        return self._stop.is_set()

    def say(self, message: TrainerMessage) -> None:
        """Send a message. Raises: StopAskedError if nothing reads it any more."""
        try:
            self._writer.write(line_of(message))
            self._writer.flush()
        except BrokenPipeError as error:
            self._stop.set()
            raise StopAskedError from error

    def rewards(self, rollouts: Rollouts) -> tuple[float | None, ...]:
        """Send plans and wait for what they are worth, however long that takes.

        Raises: StopAskedError, ProtocolError.
        """
        if self.should_stop:
            raise StopAskedError
        self.say(rollouts)
        heard = self._heard.get()
        if isinstance(heard, ProtocolError):
            raise heard
        if isinstance(heard, Stop):
            raise StopAskedError
        if heard.id != rollouts.id or len(heard.rewards) != len(rollouts.plans):
            raise ProtocolError(
                f"rollouts {rollouts.id} expected {len(rollouts.plans)} rewards, got "
                f"{len(heard.rewards)} for {heard.id}"
            )
        return heard.rewards

    def _listen(self, reader: TextIO) -> None:
        with reader:
            for line in reader:
                self._hear(line)
        self._hear(line_of(Stop()))

    def _hear(self, line: str) -> None:
        try:
            message: SiteMessage | ProtocolError = site_message(line)
        except ProtocolError as error:
            message = error
        if isinstance(message, Stop):
            self._stop.set()
        self._heard.put(message)


def standard_speech() -> Speech:
    """Return speech over this process's stdin and stdout.

    What libraries print goes to stderr from then on.
    """
    writer = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    sys.stdout.flush()
    os.dup2(2, 1)
    return Speech(os.fdopen(os.dup(0), encoding="utf-8"), writer)
