"""The interface of a wire protocol, so that models and faults know none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import orjson

from apps.simulator.problems import Problem
from apps.simulator.reply import SimulatedReply, SimulatedUsage, TokenPart
from apps.simulator.request import InvalidRequest, SimulatedRequest

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """One HTTP request before its body is read."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""


@dataclass(frozen=True, slots=True)
class ApiPath:
    """What an address stands for."""

    kind: Literal["chat", "embeddings", "models", "model", "unknown"]
    name: str = ""
    """The model in the address, if one is."""


@dataclass(frozen=True, slots=True)
class SimulatedFailure:
    """An error as it goes out."""

    status: int
    body: dict[str, Any]
    headers: Headers = ()


class AnswerFraming(Protocol):
    """Builds the bytes of one answer. Frames are asked for in their order."""

    def opening(self, counted: SimulatedUsage | None) -> bytes:
        """Return what comes before the first token."""

    def frame(self, part: TokenPart) -> bytes:
        """Return one token; nothing if the protocol sends it later."""

    def closing(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return what comes after the last token, the end marker included."""

    def whole(self, sent: SimulatedReply, counted: SimulatedUsage | None) -> bytes:
        """Return the body of an answer that is not streamed."""

    def error_event(self, problem: Problem) -> bytes:
        """Return the error as it shows up inside a stream."""

    def broken_event(self) -> bytes:
        """Return an event that is no JSON, and the end marker."""


class Surface(Protocol):
    """One wire protocol."""

    def is_meant(self, call: SimulatedCall) -> bool:
        """Say whether the call is one of this protocol's own."""

    def place(self, call: SimulatedCall) -> ApiPath:
        """Return what the address stands for."""

    def key(self, call: SimulatedCall) -> str:
        """Return the key the client shows, or nothing."""

    def read(
        self, call: SimulatedCall, place: ApiPath, body: bytes
    ) -> SimulatedRequest:
        """Return the request in `body`. Raises: BadRequest."""

    def framing(
        self, request: SimulatedRequest, model: str, digest: str
    ) -> AnswerFraming:
        """Return the framing of one answer, under the name `model`."""

    def failure(self, problem: Problem) -> SimulatedFailure:
        """Return the problem as an HTTP answer."""

    def models(self, names: Sequence[str], call: SimulatedCall) -> dict[str, Any]:
        """Return a page of the list of models. Raises: BadRequest."""

    def embeddings(self, body: bytes) -> dict[str, Any]:
        """Return the answer to a request for embeddings. Raises: BadRequest."""

    def model(self, name: str) -> dict[str, Any]:
        """Return one model as the list shows it."""


def event(data: Mapping[str, Any], name: str = "", *, end: bytes = b"\n") -> bytes:
    """Return `data` as one server-sent event; `end` ends each of its lines."""
    head = b"event: " + name.encode() + end if name else b""
    return head + b"data: " + orjson.dumps(data) + end + end


def call_id(prefix: str, digest: str, index: int) -> str:
    """Return the id of an answer's call: the same request gets the same one."""
    return f"{prefix}{digest[:16]}{index:02d}"


def page_size(call: SimulatedCall, name: str, usual: int, most: int) -> int:
    """Return how many items a page of a list has. Raises: BadRequest."""
    text = call.query.get(name, str(usual))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise InvalidRequest(f"{name} must be from 1 to {most}", name)
    return int(text)
