"""The model server that every competitor calls: cheap, exact, always the same.

Bare asyncio and not the simulator, so that on a small machine it takes as little as
possible from what is measured. The model's name says what happens: `instant`,
`delay-<ms>`, `plan-<ms>` (a plan of two independent steps and an aggregator) and
`clock-<n>-<per_s>` (n tokens, each the monotonic time in ns at which it was sent) and
`prose-<n>-<per_s>` (n tokens of Markdown: heads, paragraphs, lists, code).
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

import orjson
import uvloop

NAME = re.compile(r"(instant|delay|plan|clock|prose)(?:-(\d+))?(?:-(\d+))?")
LENGTH = re.compile(rb"content-length:[ \t]*(\d+)", re.IGNORECASE)
PLAN = (
    "Two models answer on their own and a third one combines what they say.\n"
    "model_id = [0, 1, 2]\n"
    'subtasks = ["Answer the question.", "Check the facts.", "Combine the answers."]\n'
    'access_list = [[], [], "all"]'
)
PROSE = re.findall(
    r"\S+\s+",
    """## A part of the answer

The *first* paragraph says in **some** words what the part is about, and goes on for a
line or two, as a model would write it, with `code` in between.

- One thing that matters, and why it does.
- Another thing, which is longer than the one before it.

```python
def double(number):
    return 2 * number
```

The last paragraph closes the part, before the next one begins with a head.

""",
)
USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
Token = Callable[[int], str]
TOKENS: dict[str, Token] = {
    "clock": lambda number: f"{time.monotonic_ns()} ",
    "prose": lambda number: PROSE[number % len(PROSE)],
}
"""By the kind of a model: its token of a number."""
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


class Upstream(asyncio.Protocol):
    """One connection; a request at a time, kept alive."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        match = LENGTH.search(head)
        length = int(match[1]) if match else 0
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        if length:
            self._answer(orjson.loads(rest[:length]))
        else:
            self._write_json({"status": "ok"})  # the probe that waits for the start

    def _answer(self, asked: dict[str, object]) -> None:
        name = str(asked["model"])
        match = NAME.fullmatch(name)
        if match is None:
            self._write_json({"error": {"message": f"no model {name!r}"}}, "404 No")
            return
        kind, first, second = match[1], int(match[2] or 0), int(match[3] or 0)
        is_streamed = asked.get("stream") is True
        if kind in TOKENS and is_streamed:
            self._begin_stream(name)
            self._tokens(TOKENS[kind], 0, first, 1 / second, self._loop.time())
            return
        if kind in TOKENS:
            self._write_whole(name, "".join(map(TOKENS[kind], range(first))))
            return
        text = PLAN if kind == "plan" else "ok"
        send = self._write_stream if is_streamed else self._write_whole
        if first:
            self._loop.call_later(first / 1000, send, name, text)
        else:
            send(name, text)

    # --- whole -----------------------------------------------------------------------

    def _write_whole(self, name: str, text: str) -> None:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._write_json(
            {
                "id": "chatcmpl-bench",
                "object": "chat.completion",
                "created": 1_764_547_200,
                "model": name,
                "choices": [choice],
                "usage": USAGE,
            }
        )

    def _write_json(self, document: object, status: str = "200 OK") -> None:
        body = orjson.dumps(document)
        self._transport.write(
            b"HTTP/1.1 %b\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\n\r\n%b" % (status.encode(), len(body), body)
        )

    # --- streamed --------------------------------------------------------------------

    def _write_stream(self, name: str, text: str) -> None:
        self._begin_stream(name)
        self._chunk({"content": text})
        self._end_stream()

    def _begin_stream(self, name: str) -> None:
        self._name = name
        self._transport.write(STREAM_HEAD)
        self._chunk({"role": "assistant", "content": ""})

    def _tokens(
        self, token: Token, sent: int, count: int, every_s: float, start: float
    ) -> None:
        if self._transport.is_closing():
            return
        self._chunk({"content": token(sent)})
        sent += 1
        if sent == count:
            self._end_stream()
            return
        due = start + sent * every_s
        self._loop.call_at(due, self._tokens, token, sent, count, every_s, start)

    def _chunk(self, delta: dict[str, str], reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        self._event([choice], {})

    def _event(self, choices: list[object], more: dict[str, object]) -> None:
        data = orjson.dumps(
            {
                "id": "chatcmpl-bench",
                "object": "chat.completion.chunk",
                "created": 1_764_547_200,
                "model": self._name,
                "choices": choices,
                **more,
            }
        )
        self._piece(b"data: %b\n\n" % data)

    def _piece(self, data: bytes) -> None:
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _end_stream(self) -> None:
        self._chunk({}, "stop")
        self._event([], {"usage": USAGE})
        self._piece(b"data: [DONE]\n\n")
        self._transport.write(b"0\r\n\r\n")


async def serve(port: int) -> None:
    """Serve until the process is stopped."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.upstream")
    parser.add_argument("--port", type=int, required=True)
    uvloop.run(serve(parser.parse_args().port))
