"""`POST /v1/responses/compact`: a long conversation becomes a summary to go on from.

The summary is the answer of a run of its own, and stays there: the item that stands for
it only names that run. So a key that may not read the run cannot use the item, and when
the run's texts are erased, the summary is gone too.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from django.conf import settings

from apps.accounts.rights import RUN
from apps.engine.events import RunCompleted
from apps.engine.ports import CallParams, Message, Messages
from apps.gateway.auth import authenticate
from apps.gateway.backend import Backend
from apps.gateway.chat_completions.documents import conductor_document, created_of
from apps.gateway.errors import ClientGone
from apps.gateway.exchange import Exchange
from apps.gateway.parsing.messages import settle
from apps.gateway.responses.documents import usage_document
from apps.gateway.responses.ids import COMPACTION, MESSAGE, item_id, response_id
from apps.gateway.responses.input_items import items_of
from apps.gateway.responses.items import Document
from apps.gateway.responses.previous_response import History
from apps.gateway.responses.request import ResponseRequest, parse_request
from apps.gateway.run_starter import ChatTask, RunStarter
from apps.gateway.whole import answer_whole
from apps.runs.types import RunSummary

INSTRUCTION: Message = {
    "role": "user",
    "content": (
        "Summarize the conversation above, so that another assistant can continue it "
        "from your summary alone. Keep what the user wants, the decisions and why they "
        "were made, facts, names, figures, file paths and code that are still needed, "
        "the results of tools, and what remains to be done. Write only the summary."
    ),
}


class Compactions:
    """Summarizes conversations."""

    def __init__(self, backend: Backend, starter: RunStarter) -> None:
        self._backend = backend
        self._starter = starter
        self._history = History(backend)

    async def post(self, exchange: Exchange) -> None:
        """Answer with the user's messages and an item that stands for the rest."""
        principal = await authenticate(exchange, self._backend)
        principal.require(RUN)
        raw = await exchange.read_body(settings.MAX_REQUEST_BYTES)
        request = parse_request(raw, needs_input=False)
        messages = await self._history.conversation(principal.key, request)
        asked = _asked(request, messages)
        started = await self._starter.start(exchange, principal, asked, raw)
        try:
            document = partial(compaction_document, messages)
            await answer_whole(exchange, started, document, question="input")
        except ClientGone:
            started.leave()
            raise


def _asked(request: ResponseRequest, messages: Messages) -> ChatTask:
    settle(messages, settings.MAX_PROMPT_BYTES, "input")  # the user must have spoken
    with_instruction = (*messages, INSTRUCTION)
    conversation = settle(with_instruction, settings.MAX_PROMPT_BYTES, "input")
    return ChatTask(
        model=request.model,
        prompt=conversation.prompt,
        prompt_field="input",
        messages=conversation.messages,
        params=CallParams(),
        restrictions=request.options.restrictions,
        family=request.options.family,
        ignored=request.ignored,
    )


def compaction_document(
    messages: Messages, summary: RunSummary, end: RunCompleted
) -> dict[str, Any]:
    """Return what `messages` are compacted to."""
    run_id = summary.run_id
    return {
        "id": response_id(run_id),
        "object": "response.compaction",
        "created_at": created_of(run_id),
        "output": [*_user_items(messages, run_id), _compaction_item(run_id)],
        "usage": usage_document(end.usage, summary.orchestration_usage),
        "conductor": conductor_document(summary),
    }


def _user_items(messages: Messages, run_id: uuid.UUID) -> list[Document]:
    said = [items_of(m)[0] for m in messages if m["role"] == "user" and m["content"]]
    return [{"id": f"{MESSAGE}_{run_id.hex}in{n:02d}", **i} for n, i in enumerate(said)]


def _compaction_item(run_id: uuid.UUID) -> Document:
    name = item_id(COMPACTION, run_id)
    return {"id": name, "type": "compaction", "encrypted_content": name}
