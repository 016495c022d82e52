"""Tells a run as the typed events of a streamed response.

Guarantees: `response.created` comes first and exactly one of `response.completed`,
`response.incomplete` and `response.failed` ends the response. A failure is sent twice,
finally as an event `error` whose data has the field `error`: without it some clients
would take what came for the whole answer.
"""

from __future__ import annotations

from apps.engine.events import RunCompleted
from apps.gateway.errors import ApiFailure
from apps.gateway.item_stream import ItemStreamEncoder
from apps.gateway.responses.documents import (
    Origin,
    broken_document,
    ended_document,
    running_document,
    status_of,
)
from apps.gateway.responses.events import EventWriter
from apps.gateway.responses.items import Document, Item, ResponseItems
from apps.runs.types import RunSummary

TERMINAL = {"completed": "response.completed", "incomplete": "response.incomplete"}


class ResponseStreamEncoder(ItemStreamEncoder[Item]):
    """Makes events of the signals of one run."""

    def __init__(
        self, origin: Origin, *, shows_progress: bool, is_late: bool = False
    ) -> None:
        self._origin = origin
        self._events = EventWriter()
        super().__init__(
            ResponseItems(origin.run_id, self._events),
            shows_progress=shows_progress,
            is_late=is_late,
        )

    def opening(self) -> bytes:
        """Return the two events that begin every response."""
        document = {"response": running_document(self._origin)}
        return self._events.write("response.created", document) + self._events.write(
            "response.in_progress", document
        )

    def heartbeat(self) -> bytes:
        """Return one more `response.in_progress`, which changes nothing."""
        document = {"response": running_document(self._origin)}
        return self._events.write("response.in_progress", document)

    def _status(self, summary: RunSummary) -> str:
        return status_of(summary)

    def _completed(self, summary: RunSummary, end: RunCompleted) -> bytes:
        document = ended_document(self._origin, summary, self._documents())
        event = TERMINAL[document["status"]]
        return self._events.write(event, {"response": document})

    def _fail(self, failure: ApiFailure, summary: RunSummary | None) -> bytes:
        if summary is None:
            document = broken_document(self._origin, failure, self._documents())
        else:
            document = ended_document(self._origin, summary, self._documents())
        failed = self._events.write("response.failed", {"response": document})
        error = failure.body()["error"]
        told = {name: error[name] for name in ("code", "message", "param")}
        return failed + self._events.write("error", {**told, "error": error})

    def _documents(self) -> list[Document]:
        return [item.document() for item in self._output.items]
