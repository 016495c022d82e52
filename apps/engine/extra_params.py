"""Extra parameters of a call: those that some models take and others do not.

They are words of chat completions or of servers like it (`reasoning_effort`, `top_k`).
They belong to the step that answers, and each worker gets those that it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from apps.engine.ports import (
    CallParams,
    ImagePart,
    Message,
    Messages,
    PoolWorker,
    TextPart,
)

CACHE_CONTROL = "cache_control"
"""The parameter that stands for the cache marks on parts of the messages: True if there
are any, or the mark for the whole request."""


def params_taken(params: CallParams, worker: PoolWorker) -> CallParams:
    """Return the parameters of a call, less the extra ones `worker` does not take."""
    taken = _taken(params, worker)
    if params.extra is None or taken is None or taken.issuperset(params.extra):
        return params
    extra = {name: value for name, value in params.extra.items() if name in taken}
    return replace(params, extra=extra or None)


def messages_taken(
    params: CallParams, messages: Messages, worker: PoolWorker
) -> Messages:
    """Return the messages, without their cache marks if `worker` takes none."""
    if params.extra is None or CACHE_CONTROL not in params.extra:
        return messages
    taken = _taken(params, worker)
    if taken is None or CACHE_CONTROL in taken:
        return messages
    return tuple(map(_unmarked, messages))


def has_cache_marks(messages: Iterable[Message]) -> bool:
    """Say whether a part of any message is marked for a provider's cache."""
    return any(
        CACHE_CONTROL in part
        for message in messages
        if not isinstance(message["content"], str)
        for part in message["content"]
    )


def unmarked_images(images: Iterable[ImagePart]) -> list[ImagePart]:
    """Return images without cache marks."""
    return [cast(ImagePart, _unmarked_part(image)) for image in images]


def not_taken(
    params: CallParams, workers: Sequence[PoolWorker]
) -> dict[str, list[str]]:
    """Return, for each extra parameter, the workers that do not take it, if any."""
    known = [(worker.name, _taken(params, worker)) for worker in workers]
    lacking = {
        name: [
            worker for worker, taken in known if taken is not None and name not in taken
        ]
        for name in sorted(params.extra or ())
    }
    return {name: names for name, names in lacking.items() if names}


def _taken(params: CallParams, worker: PoolWorker) -> frozenset[str] | None:
    """Return the extra parameters that a worker gets of a request; None: all."""
    if worker.extra_params is None and params.is_extra_translated:
        return worker.listed_params
    return worker.extra_params


def _unmarked(message: Message) -> Message:
    content = message["content"]
    if isinstance(content, str) or not any(CACHE_CONTROL in part for part in content):
        return message
    parts = [_unmarked_part(part) for part in content]
    if any(part["type"] == "image_url" for part in parts):
        return {**message, "content": parts}
    # Not every server takes a list of texts; without marks the list says nothing more.
    return {**message, "content": "".join(cast(TextPart, p)["text"] for p in parts)}


def _unmarked_part(part: TextPart | ImagePart) -> TextPart | ImagePart:
    bare = {name: value for name, value in part.items() if name != CACHE_CONTROL}
    return cast(TextPart | ImagePart, bare)
