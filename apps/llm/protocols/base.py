"""The interface of a wire protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from apps.llm.types import ChatRequest, Delta, Endpoint, Finish

Headers = tuple[tuple[str, str], ...]


class AnswerReader(Protocol):
    """Turns the payloads of one event stream into deltas and the finish."""

    def read(self, payload: bytes) -> Delta | Finish | None:
        """Return what `payload` says; None if it says nothing that counts.

        Nothing may be read after a Finish. Raises: BadResponse, Incomplete, or what an
        error event says.
        """
        ...

    def end(self, rest: bytes | None) -> Finish:
        """Return the finish of a stream that has ended properly without one so far.

        `rest` is the payload of an event without its last empty line. Raises:
        Incomplete if the provider did not say that the answer is complete.
        """
        ...


class WireProtocol(Protocol):
    """One protocol: it has no state, so one object serves all calls."""

    max_tool_name: int
    """Characters of a tool's name that providers of this protocol take."""

    def chat_url(self, endpoint: Endpoint, *, is_stream: bool) -> str:
        """Return the address that answers a conversation.

        A model's name is one percent-encoded segment of it, if it is in it at all.
        Raises: BadRequest if an address cannot hold the name.
        """
        ...

    def models_url(self, endpoint: Endpoint) -> str:
        """Return the address that lists the models."""
        ...

    def headers(self, endpoint: Endpoint) -> Headers:
        """Return what only this protocol wants, with the key if there is one."""
        ...

    def request_body(
        self, endpoint: Endpoint, request: ChatRequest, *, is_stream: bool
    ) -> bytes:
        """Return the JSON body; only what is set is in it.

        Raises: BadRequest if the request has no form in this protocol.
        """
        ...

    def extra_params(self, model: str) -> frozenset[str] | None:
        """Return the extra parameters that have a form in this protocol for `model`.

        None: it has no words of its own, any may be sent.
        """
        ...

    def read_answer(self, endpoint: Endpoint, body: bytes) -> tuple[Delta, Finish]:
        """Return the one JSON answer to a request without a stream.

        Raises: BadResponse, Incomplete, or what an error object in it says.
        """
        ...

    def reader(self, endpoint: Endpoint) -> AnswerReader:
        """Return what reads one streamed answer."""
        ...

    def model_names(self, listing: Any) -> Iterable[Any] | None:
        """Return the names in a list of models; None if it is no such list."""
        ...
