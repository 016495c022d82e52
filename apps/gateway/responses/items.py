"""The items of a response's output, each as a document and as its stream of events.

An item is begun, added to and ended. Every call returns the events that say so, ready
to send; the events of one item name it by its id and place.
"""

from __future__ import annotations

import uuid
from abc import abstractmethod
from itertools import count
from typing import Any, ClassVar

from apps.gateway.output import COMPLETED, StreamedItem
from apps.gateway.responses.events import EventWriter
from apps.gateway.responses.ids import CALL, MESSAGE, REASONING, item_id
from apps.gateway.responses.namespaces import name_fields
from apps.gateway.tool_calls import call_id

Document = dict[str, Any]


class Item(StreamedItem):
    """One output item while it grows."""

    delta_event: ClassVar[str]

    def __init__(self, events: EventWriter, item_id: str, output_index: int) -> None:
        super().__init__()
        self.id = item_id
        self._events = events
        self._place: Document = {"item_id": item_id, "output_index": output_index}

    @abstractmethod
    def document(self) -> Document:
        """Return the item as it stands."""

    @abstractmethod
    def _place_of_part(self) -> Document:
        """Return which part of the item its text belongs to."""

    def begin(self) -> bytes:
        empty = {**self.document(), **self._without_parts()}
        return self._whole("response.output_item.added", empty)

    def add(self, text: str) -> bytes:
        self._pieces.append(text)
        return self._say(self.delta_event, delta=text)

    def end(self, status: str = COMPLETED) -> bytes:
        self.status = status
        closing = self._closing()
        return closing + self._whole("response.output_item.done", self.document())

    @abstractmethod
    def _closing(self) -> bytes:
        """Return the events that tell the finished text once more."""

    @abstractmethod
    def _without_parts(self) -> Document:
        """Return the fields that are empty when the item is announced."""

    def _say(self, event: str, **fields: Any) -> bytes:
        return self._events.write(
            event, {**self._place, **self._place_of_part(), **fields}
        )

    def _whole(self, event: str, document: Document) -> bytes:
        place = self._place["output_index"]
        return self._events.write(event, {"output_index": place, "item": document})


class Reasoning(Item):
    """The run's progress, in the form of a reasoning summary."""

    delta_event = "response.reasoning_summary_text.delta"

    def document(self) -> Document:
        return reasoning_document(self.id, self.text, self.status)

    def begin(self) -> bytes:
        part = {"type": "summary_text", "text": ""}
        return super().begin() + self._say(
            "response.reasoning_summary_part.added", part=part
        )

    def _place_of_part(self) -> Document:
        return {"summary_index": 0}

    def _without_parts(self) -> Document:
        return {"summary": []}

    def _closing(self) -> bytes:
        part = {"type": "summary_text", "text": self.text}
        return self._say(
            "response.reasoning_summary_text.done", text=self.text
        ) + self._say("response.reasoning_summary_part.done", part=part)


class MessageItem(Item):
    """The answer's text, and why there is no more of it."""

    delta_event = "response.output_text.delta"

    def __init__(self, events: EventWriter, item_id: str, output_index: int) -> None:
        super().__init__(events, item_id, output_index)
        self._refusal = ""

    def document(self) -> Document:
        return message_document(self.id, self.text, self.status, self._refusal)

    def begin(self) -> bytes:
        return super().begin() + self._say(
            "response.content_part.added", part=text_part("")
        )

    def add(self, text: str) -> bytes:
        self._pieces.append(text)
        return self._say(self.delta_event, delta=text, logprobs=[])

    def _place_of_part(self) -> Document:
        return {"content_index": 0}

    def _without_parts(self) -> Document:
        return {"content": []}

    def refuse(self, reason: str) -> bytes:
        closing, self._refusal = self._closing(), reason
        place: Document = {**self._place, "content_index": 1}
        return (
            closing
            + _refusal_begun(self._events, place)
            + b"".join(
                (
                    self._events.write(
                        "response.refusal.delta", {**place, "delta": reason}
                    ),
                    _refusal_done(self._events, place, reason),
                )
            )
        )

    def _closing(self) -> bytes:
        if self._refusal:
            return b""  # its parts are closed
        return self._say(
            "response.output_text.done", text=self.text, logprobs=[]
        ) + self._say("response.content_part.done", part=text_part(self.text))


class RefusalItem(Item):
    """Why there is no answer."""

    delta_event = "response.refusal.delta"

    def document(self) -> Document:
        return message_document(self.id, "", self.status, self.text)

    def begin(self) -> bytes:
        return super().begin() + _refusal_begun(self._events, self._part)

    def _place_of_part(self) -> Document:
        return {"content_index": 0}

    def _without_parts(self) -> Document:
        return {"content": []}

    def _closing(self) -> bytes:
        return _refusal_done(self._events, self._part, self.text)

    @property
    def _part(self) -> Document:
        return {**self._place, **self._place_of_part()}


class FunctionCallItem(Item):
    """A wish to have one of the caller's functions called."""

    delta_event = "response.function_call_arguments.delta"

    def __init__(
        self,
        events: EventWriter,
        item_id: str,
        output_index: int,
        *,
        call_id: str,
        name: str,
    ) -> None:
        super().__init__(events, item_id, output_index)
        self._call_id = call_id
        self.name = name

    def document(self) -> Document:
        return call_document(self.id, self._call_id, self.name, self.text, self.status)

    def _place_of_part(self) -> Document:
        return {}

    def _without_parts(self) -> Document:
        return {"arguments": ""}

    def _closing(self) -> bytes:
        return self._say(
            "response.function_call_arguments.done",
            **name_fields(self.name),
            arguments=self.text,
        )


class ResponseItems:
    """Makes the output items of one response."""

    def __init__(self, run_id: uuid.UUID, events: EventWriter) -> None:
        self._run_id = run_id
        self._events = events
        self._numbers = {kind: count() for kind in (MESSAGE, REASONING)}

    def progress(self, place: int) -> Item:
        """Return an item for what the run is doing."""
        return Reasoning(self._events, self._next_id(REASONING), place)

    def text(self, place: int) -> Item:
        """Return an item for text of the answer."""
        return MessageItem(self._events, self._next_id(MESSAGE), place)

    def refusal(self, place: int) -> Item:
        """Return an item for the reason why there is no answer."""
        return RefusalItem(self._events, self._next_id(MESSAGE), place)

    def call(self, place: int, number: int, name: str) -> Item:
        """Return an item for the `number`-th tool call, from 0 on."""
        return FunctionCallItem(
            self._events,
            item_id(CALL, self._run_id, number),
            place,
            call_id=call_id(self._run_id, number),
            name=name,
        )

    def _next_id(self, kind: str) -> str:
        return item_id(kind, self._run_id, next(self._numbers[kind]))


def text_part(text: str) -> Document:
    """Return a piece of an answer's content."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def refusal_part(reason: str) -> Document:
    """Return why there is no more content."""
    return {"type": "refusal", "refusal": reason}


def message_document(
    item_id: str, text: str, status: str = COMPLETED, refusal: str = ""
) -> Document:
    """Return an answer as an output item.

    `refusal`: why there is no more of it; empty: it was not refused.
    """
    content = [text_part(text)] if text or not refusal else []
    if refusal:
        content.append(refusal_part(refusal))
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": content,
    }


def _refusal_begun(events: EventWriter, place: Document) -> bytes:
    part = {**place, "part": refusal_part("")}
    return events.write("response.content_part.added", part)


def _refusal_done(events: EventWriter, place: Document, reason: str) -> bytes:
    done = events.write("response.refusal.done", {**place, "refusal": reason})
    part = {**place, "part": refusal_part(reason)}
    return done + events.write("response.content_part.done", part)


def reasoning_document(item_id: str, text: str, status: str = COMPLETED) -> Document:
    """Return what a run did as an output item."""
    return {
        "id": item_id,
        "type": "reasoning",
        "status": status,
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": None,
    }


def call_document(
    item_id: str, call_id: str, name: str, arguments: str, status: str = COMPLETED
) -> Document:
    """Return a function call as an output item."""
    return {
        "id": item_id,
        "type": "function_call",
        "status": status,
        "call_id": call_id,
        **name_fields(name),
        "arguments": arguments,
    }
