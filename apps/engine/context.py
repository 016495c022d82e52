"""Builds the prompt of a worker: the question, earlier steps it may read, its subtask.

Source: arXiv 2512.04388, appendix on the worker prompt; the wording is ours. Texts of
people and models stand between tags; a tag of ours inside such a text is defused, so
that no text can pretend to be another section.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.engine.cutting import cut_to_fit
from apps.engine.extra_params import unmarked_images
from apps.engine.messages import (
    estimate_input,
    estimate_tools,
    images_of,
    question_of,
)
from apps.engine.plan import Plan
from apps.engine.ports import CallParams, Message, Messages, PoolWorker, Task, TextPart

PREAMBLE = (
    "You are one of several experts who answer a question together. Each of you has a "
    "subtask of your own. You may be shown what others were asked and what they "
    "answered; judge it for yourself, it can be wrong. Do your own subtask and nothing "
    "else."
)
_OUR_TAGS = re.compile(
    r"<(?=/?\s*(?:question|subtask|response|your-subtask)\b)", re.IGNORECASE
)


def worker_messages(
    task: Task,
    plan: Plan,
    index: int,
    responses: Mapping[int, str],
    worker: PoolWorker,
) -> Messages:
    """Return what `worker` is sent for step `index`, whole.

    `responses` holds the text of every earlier step that has ended. A plan of one step
    whose subtask is the prompt itself and that reads nothing is a direct question: the
    conversation goes out as it is. Otherwise the worker gets sections of text, and
    after them every image of the conversation.
    """
    step = _Step(task, plan, index, responses, worker)
    return step.messages(task.messages, task.prompt)


def fits(
    messages: Messages,
    worker: PoolWorker,
    wanted_output: int | None,
    *,
    tools: Sequence[Mapping[str, Any]] = (),
    beside: int = 0,
) -> bool:
    """Say whether `messages` leave room for an answer in the worker's context.

    The room is what the answer may be long, a quarter of the context at most. A context
    of unknown size fits everything. `beside`: tokens that are sent with the messages.
    """
    read = estimate_input(messages) + estimate_tools(tools) + beside
    return fits_context(
        read, worker.context_tokens, wanted_output or worker.max_output_tokens
    )


def text_tokens(worker: PoolWorker) -> int | None:
    """Return how much text an embedding worker reads, in tokens; None: unknown."""
    return worker.context_tokens


def fits_context(read: int, context_tokens: int | None, output_tokens: int) -> bool:
    """Say whether `read` tokens of input leave room for `output_tokens`.

    A quarter of the context is room enough for any answer; None fits everything.
    """
    if context_tokens is None:
        return True
    return read + min(output_tokens, context_tokens // 4) <= context_tokens


def cut_messages(
    task: Task,
    plan: Plan,
    index: int,
    responses: Mapping[int, str],
    worker: PoolWorker,
) -> Messages:
    """Return what `worker` is sent for step `index`, cut to its context.

    What does not fit even so, or holds no conversation that could be cut, comes back
    whole: then the provider decides.
    """
    step = _Step(task, plan, index, responses, worker)
    params = task.params if index == len(plan.steps) - 1 else CallParams()
    # Sections are weighed around an empty question, once: a long one takes its time.
    around = 0 if step.is_direct else estimate_input(step.messages((), ""))

    def suits(conversation: Messages) -> bool:
        question = question_of(conversation)
        messages = (
            step.messages(conversation, question)
            if step.is_direct
            else _user(question, conversation)
        )
        return fits(
            messages, worker, params.max_tokens, tools=params.tools, beside=around
        )

    whole = worker_messages(task, plan, index, responses, worker)
    is_short = fits(whole, worker, params.max_tokens, tools=params.tools)
    if is_short or not task.messages:
        return whole
    kept = cut_to_fit(task.messages, suits)
    return whole if kept is None else step.messages(kept, question_of(kept))


@dataclass(slots=True)
class _Step:
    task: Task
    plan: Plan
    index: int
    responses: Mapping[int, str]
    worker: PoolWorker

    @property
    def is_direct(self) -> bool:
        step = self.plan.steps[self.index]
        is_alone = len(self.plan.steps) == 1 and not step.access
        return is_alone and step.subtask == self.task.prompt

    def messages(self, conversation: Messages, prompt: str) -> Messages:
        """Return what is sent for a conversation and the question that stands for it.

        Both may be shorter than the task's own.
        """
        if not self.is_direct:
            return _user(self._sections(prompt), conversation)
        if not conversation:
            return _user(prompt, ())
        if not self.worker.accepts_tools and _mentions_tools(conversation):
            return _user(prompt, conversation)  # it would not understand the turns
        return conversation

    def _sections(self, prompt: str) -> str:
        step = self.plan.steps[self.index]
        parts = [PREAMBLE, section("question", prompt)]
        for earlier in step.access:
            subtask = self.plan.steps[earlier].subtask
            parts.append(section("subtask", subtask, agent=earlier))
            parts.append(section("response", self.responses[earlier], agent=earlier))
        parts.append(section("your-subtask", step.subtask))
        return "\n\n".join(parts)


def _user(text: str, conversation: Messages) -> Messages:
    images = images_of(conversation)
    if not images:
        return (Message(role="user", content=text),)
    # Cache marks belong to the conversation as its caller wrote it.
    first = TextPart(type="text", text=text)
    return (Message(role="user", content=[first, *unmarked_images(images)]),)


def _mentions_tools(messages: Messages) -> bool:
    return any(m["role"] == "tool" or m.get("tool_calls") for m in messages)


def section(tag: str, text: str, *, agent: int | None = None) -> str:
    """Return `text` between tags, with our own tags inside it defused."""
    attribute = "" if agent is None else f' agent="{agent}"'
    return f"<{tag}{attribute}>\n{_OUR_TAGS.sub('‹', text)}\n</{tag}>"
