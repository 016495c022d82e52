"""Tells a run as the events of a streamed message.

Guarantees: `message_start` comes first; a complete answer ends with `message_delta` and
`message_stop`, and a failure with an event `error` after which neither follows.
"""

from __future__ import annotations

import uuid

from apps.engine.events import RunCompleted
from apps.gateway.anthropic.content_stream import (
    MessageBlocks,
    StreamedBlock,
    write_event,
)
from apps.gateway.anthropic.documents import (
    Document,
    message_head,
    stop_document,
    usage_document,
)
from apps.gateway.anthropic.errors import ANTHROPIC_ERRORS
from apps.gateway.chat_completions.documents import conductor_document, run_link
from apps.gateway.errors import ApiFailure
from apps.gateway.item_stream import ItemStreamEncoder
from apps.gateway.output import COMPLETED
from apps.runs.types import RunSummary


class MessageStreamEncoder(ItemStreamEncoder[StreamedBlock]):
    """Makes events of the signals of one run."""

    def __init__(
        self,
        run_id: uuid.UUID,
        *,
        model: str,
        request_id: str,
        estimated_input: int,
        shows_thinking: bool,
    ) -> None:
        """`estimated_input`: tokens; sent until the run's own count is known."""
        super().__init__(MessageBlocks(run_id), shows_progress=shows_thinking)
        self._run_id = run_id
        self._model = model
        self._request_id = request_id
        self._estimated_input = estimated_input

    def opening(self) -> bytes:
        """Return the event that begins the message, and one that changes nothing."""
        usage: Document = {
            "input_tokens": self._estimated_input,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        }
        message = {
            **message_head(self._run_id, self._model),
            "usage": usage,
            "conductor": run_link(self._run_id),
        }
        return write_event("message_start", message=message) + self.heartbeat()

    def heartbeat(self) -> bytes:
        """Return an event that changes nothing."""
        return write_event("ping")

    def _status(self, summary: RunSummary) -> str:
        return COMPLETED

    def _completed(self, summary: RunSummary, end: RunCompleted) -> bytes:
        closing = write_event(
            "message_delta",
            delta=stop_document(end),
            usage=usage_document(end.usage),
            conductor=conductor_document(summary),
        )
        return closing + write_event("message_stop")

    def _fail(self, failure: ApiFailure, summary: RunSummary | None) -> bytes:
        return ANTHROPIC_ERRORS.event(failure, self._request_id)
