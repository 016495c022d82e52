"""Finds what a request says of earlier responses, and makes one conversation of it.

A response is the business of the key that asked for it; other keys of the team need the
scope `runs:read`. Whatever a key may not see is not there.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from apps.accounts.models import Scope
from apps.accounts.types import KeyHolder
from apps.core.errors import InvalidInput, NotFound
from apps.engine.events import RunCompleted
from apps.engine.messages import text_of
from apps.engine.ports import Message, Messages
from apps.gateway.backend import Backend
from apps.gateway.responses.ids import COMPACTION, MESSAGE, response_id
from apps.gateway.responses.input_parser import Entry, Reference, unknown_item
from apps.gateway.responses.request import ResponseRequest, unknown_previous
from apps.gateway.tool_calls import with_ids
from apps.runs.types import RunRecord

READ_SCOPE = Scope.READ.value
SUMMARY_LABEL = "Summary of the conversation so far:"
"""Goes before the text of a compaction, which a worker reads as the user's words."""
MAX_SOURCES = 20
"""Earlier responses whose items one request may refer to; each is read by itself."""


class History:
    """The responses of a team, as one of its keys may see them."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def record(self, holder: KeyHolder, run_id: uuid.UUID) -> RunRecord:
        """Return what is on record of a response. Raises: NotFound."""
        record = await self._backend.run_record(holder.team_id, run_id)
        if record.api_key_id != holder.key_id and READ_SCOPE not in holder.scopes:
            raise NotFound(f"there is no response {response_id(run_id)!r}")
        return record

    async def conversation(
        self, holder: KeyHolder, request: ResponseRequest
    ) -> Messages:
        """Return all messages of a request, from its instructions to its last item.

        Raises: InvalidInput naming what is not there.
        """
        messages: list[Message] = []
        if request.instructions:
            messages.append({"role": "system", "content": request.instructions})
        if request.previous is not None:
            messages += await self._before(holder, request.previous)
        sources = await self._sources(holder, request.entries)
        for entry in request.entries:
            if isinstance(entry, Reference):
                entry = referred(entry, sources)
            add_entry(messages, entry)
        return tuple(messages)

    async def _before(self, holder: KeyHolder, run_id: uuid.UUID) -> list[Message]:
        try:
            record = await self.record(holder, run_id)
        except NotFound as exc:
            raise unknown_previous(response_id(run_id)) from exc
        if not record.prompt:  # its texts were erased
            raise unknown_previous(response_id(run_id))
        return [*said_before(record), answer_of(record)]

    async def _sources(
        self, holder: KeyHolder, entries: Sequence[Entry]
    ) -> dict[uuid.UUID, Message]:
        """Return what those responses said whose items are referred to."""
        places = {
            entry.run_id: entry for entry in entries if isinstance(entry, Reference)
        }
        if len(places) > MAX_SOURCES:
            raise InvalidInput(
                f"input: items of {len(places)} responses are referred to, at most "
                f"{MAX_SOURCES} are allowed",
                param="input",
            )
        sources = {}
        for run_id, reference in places.items():
            try:
                sources[run_id] = answer_of(await self.record(holder, run_id))
            except (NotFound, InvalidInput) as exc:
                raise unknown_item(reference.name, reference.where) from exc
        return sources


def referred(reference: Reference, sources: Mapping[uuid.UUID, Message]) -> Message:
    """Return the item that is referred to. Raises: InvalidInput if there is none."""
    answer = sources[reference.run_id]
    if reference.kind == COMPACTION:
        return {"role": "user", "content": f"{SUMMARY_LABEL}\n\n{text_of(answer)}"}
    if reference.kind == MESSAGE:
        return {"role": "assistant", "content": answer["content"]}
    calls = answer.get("tool_calls", [])
    if reference.index >= len(calls):
        raise unknown_item(reference.name, reference.where)
    call = calls[reference.index]
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def said_before(record: RunRecord) -> Messages:
    """Return the conversation a response was asked with, its instructions left out."""
    if not record.messages:
        return ({"role": "user", "content": record.prompt},)
    has_instructions = record.params.get("echo", {}).get("has_instructions")
    return record.messages[1:] if has_instructions else record.messages


def answer_of(record: RunRecord) -> Message:
    """Return what a response said. Raises: InvalidInput if it has no answer."""
    end = None if record.summary is None else record.summary.end
    if not isinstance(end, RunCompleted):
        why = "is still in progress" if end is None else "has no answer to go on from"
        raise InvalidInput(
            f"the response {response_id(record.run_id)!r} {why}",
            param="previous_response_id",
        )
    answer: Message = {"role": "assistant", "content": end.said}
    if calls := with_ids(end.tool_calls, record.run_id):
        answer["tool_calls"] = calls
    return answer


def add_entry(messages: list[Message], entry: Message) -> None:
    """Add a message; a tool call joins the assistant's message right before it."""
    calls = entry.get("tool_calls")
    if calls is None:
        messages.append(entry)
        return
    last = messages[-1] if messages else None
    if last is None or last["role"] != "assistant":
        messages.append(entry)
        return
    known = last.get("tool_calls", [])
    ids = {call["id"] for call in known}
    new = [call for call in calls if call["id"] not in ids]
    messages[-1] = {**last, "tool_calls": [*known, *new]}
