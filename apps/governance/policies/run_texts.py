"""The texts of a run that its policies judge and redact: all that a model may be sent.

Those of the order are here. What is written while the run goes on, such as subtasks
and answers, the engine names to the gate as it comes (`Gate.add_texts`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from apps.engine.messages import question_of
from apps.engine.ports import CallParams
from apps.governance.sensitive_data.json_texts import (
    texts_in,
    texts_in_json,
    with_texts,
)
from apps.governance.sensitive_data.redaction import Redactor
from apps.planners.fixed import GivenPlanPlanner
from apps.runs.types import RunOrder


def order_texts(order: RunOrder) -> tuple[str, ...]:
    """Return the texts of an order, the prompt first, each once."""
    return tuple(dict.fromkeys((order.prompt, *_beside_prompt(order))))


def _beside_prompt(order: RunOrder) -> Iterator[str]:
    for message in order.messages:
        for call in message.get("tool_calls", ()):
            yield from texts_in_json(call["function"]["arguments"])
    params = order.params
    yield from texts_in((params.stop, params.tools, params.response_format))
    if isinstance(order.planner, GivenPlanPlanner):
        yield from (step.subtask for step in order.planner.steps)
    yield from (answer.text for answer in order.reused)


def order_redacted(
    order: RunOrder, redactor: Redactor, kinds: Collection[str]
) -> RunOrder:
    """Return an order with placeholders in all its texts, what it echoes among them."""

    def redact(text: str) -> str:
        return redactor.redact(text, kinds)

    messages = redactor.redact_messages(order.messages, kinds)
    planner = order.planner
    if isinstance(planner, GivenPlanPlanner):
        steps = (replace(s, subtask=redact(s.subtask)) for s in planner.steps)
        planner = GivenPlanPlanner(tuple(steps))
    return replace(
        order,
        prompt=question_of(messages) if messages else redact(order.prompt),
        messages=messages,
        params=params_redacted(order.params, redact),
        planner=planner,
        reused=tuple(replace(each, text=redact(each.text)) for each in order.reused),
        echo=with_texts(order.echo, redact),
        metadata=with_texts(order.metadata, redact),
    )


def params_redacted(params: CallParams, redact: Callable[[str], str]) -> CallParams:
    """Return the parameters of a call with other texts in their texts."""
    return replace(
        params,
        stop=with_texts(params.stop, redact),
        tools=with_texts(params.tools, redact),
        response_format=with_texts(params.response_format, redact),
    )
