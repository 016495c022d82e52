"""Runs the tests of a task, `check(candidate)`; the answer is in another program.

`candidate` sends its arguments there and returns what comes back, which is plain
data. So nothing that the answer does can change the tests or their result.
"""

from __future__ import annotations

import builtins
import json
import os
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

sys.path.insert(0, "/sandbox")
from plain_data import (  # type: ignore[import-not-found]
    decoded,
    encoded,
    long_numbers_allow,
    receive,
    send,
)

SECRET, REPORT, PEER = 3, 4, 5
MAX_SECRET = 100


class AnswerEnded(Exception):
    """The program with the answer is gone, or says something that it must not."""


class AnswerRaised(Exception):
    """The function raised something that is not built in, or no exception."""


class Candidate:
    """The function of the answer, as the tests call it."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self.reply()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call it. Raises: what it raised, if that is built in."""
        given = [encoded(each) for each in arguments]
        by_name = {name: encoded(each) for name, each in named.items()}
        try:
            send(self._peer, [given, by_name])
        except OSError as exc:
            raise AnswerEnded from exc
        return self.reply()

    def reply(self) -> Any:
        """Return what the other program says."""
        try:
            told = receive(self._peer)
            if "error" not in told:
                return decoded(told["value"])
            name = told["error"]
        except Exception as exc:
            raise AnswerEnded from exc
        kind = getattr(builtins, str(name), None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            raise kind("raised by the answer")
        raise AnswerRaised(str(name)[:80])


def main() -> None:
    """Run the tests; report the secret if all have passed."""
    given = json.load(sys.stdin)
    long_numbers_allow()
    try:
        candidate = Candidate(socket.socket(fileno=PEER))
        namespace: dict[str, Any] = {"__name__": "tests"}
        # What stands before the answer may have functions that the tests call too.
        # It may also be half of a function, of which there is nothing to run.
        with suppress(SyntaxError):
            exec(compile(given["prefix"], "prefix.py", "exec"), namespace)  # nosec B102
        namespace[given["entry_point"]] = candidate
        exec(compile(given["tests"], "tests.py", "exec"), namespace)  # nosec B102
        namespace["check"](candidate)
    except Exception as exc:  # noqa: BLE001 - a test that failed may raise anything
        os.write(REPORT, _words(exc).encode(errors="replace"))
        os._exit(1)
    os.write(REPORT, os.read(SECRET, MAX_SECRET))
    os._exit(0)


def _words(exc: Exception) -> str:
    places = [
        frame.lineno
        for frame in traceback.extract_tb(exc.__traceback__)
        if frame.filename == "tests.py"
    ]
    where = f" at line {places[-1]} of the tests" if places else ""
    if isinstance(exc, AnswerEnded):
        return f"the answer ended before its tests{where}"
    name = str(exc) if isinstance(exc, AnswerRaised) else type(exc).__name__
    return f"{name}{where}"


if __name__ == "__main__":
    main()
