"""Refuses prompts that are too long, before any model is called.

Two things bound a prompt: the site's setting, and the contexts of the workers that the
run could use. The second bound refuses only what is certain to fit nowhere: our count
of tokens is an estimate, and within its error the provider decides.
"""

from __future__ import annotations

from django.conf import settings

from apps.core.errors import InvalidInput, PromptTooLong
from apps.engine.cutting import shortest
from apps.engine.messages import question_of, text_of
from apps.engine.ports import PoolWorker, Task
from apps.engine.suitability import unsuited
from apps.engine.usage import least_tokens
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder


def check_prompt(order: RunOrder) -> None:
    """Check that there is a prompt that can be kept. Raises: InvalidInput."""
    prompt, field = order.prompt, order.prompt_field
    if not prompt.strip():
        raise InvalidInput("the prompt is empty", param=field)
    size = len(prompt.encode("utf-8", "surrogatepass"))
    if size > settings.MAX_PROMPT_BYTES:
        raise PromptTooLong(
            f"the prompt has {size:,} bytes; at most {settings.MAX_PROMPT_BYTES:,} "
            "are accepted",
            param=field,
        )
    try:
        prompt.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInput("the prompt is not valid Unicode", param=field) from exc


def check_contexts(order: RunOrder, resolved: ResolvedModel) -> None:
    """Refuse an order whose text fits no worker, however it is cut.

    A worker whose context is unknown may have room for anything. Raises: PromptTooLong.
    """
    workers = resolved.pool.workers
    if order.vectors is not None:
        texts = [text_of(message) for message in order.messages] or [order.prompt]
        (worker,) = workers
        _require(max(map(least_tokens, texts)), resolved.text_tokens, worker, order)
        return
    found = least_tokens(order.prompt)
    if all(w.context_tokens is None or found <= w.context_tokens for w in workers):
        return  # nearly always
    roomiest = _roomiest(order, resolved)
    if roomiest is None or roomiest.context_tokens is None:
        return
    if found > roomiest.context_tokens and order.messages:
        found = least_tokens(question_of(shortest(order.messages)))
    _require(found, roomiest.context_tokens, roomiest, order)


def _roomiest(order: RunOrder, resolved: ResolvedModel) -> PoolWorker | None:
    """Return the worker with the largest context, or one whose context is unknown."""
    task = Task(order.prompt, order.params, messages=order.messages)
    able = [w for w in resolved.pool.workers if not unsuited(task, w, is_last=True)]
    unknown = next((w for w in able if w.context_tokens is None), None)
    return unknown or max(able, key=lambda w: w.context_tokens or 0, default=None)


def _require(
    found: int, context: int | None, worker: PoolWorker, order: RunOrder
) -> None:
    if context is None or found <= context:
        return
    raise PromptTooLong(
        f"the prompt has at least {found:,} tokens; worker {worker.name!r} has a "
        f"context of {context:,}, and no worker that this run may use has a larger one",
        param=order.prompt_field,
    )
