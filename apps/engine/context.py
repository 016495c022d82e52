"""What a worker sees: the question, the earlier steps it may read, its own subtask.

Source: arXiv 2512.04388, appendix on the worker prompt; the wording is ours. Texts of
people and models stand between tags; a tag of ours inside such a text is defused, so
that no text can pretend to be another section.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from apps.engine.plan import Plan
from apps.engine.ports import Message, Messages

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
    prompt: str, plan: Plan, index: int, responses: Mapping[int, str]
) -> Messages:
    """Return what the worker of step `index` is sent.

    `responses` holds the text of every earlier step that has ended. A plan of one step
    whose subtask is the prompt itself is a direct question and goes out as it is.
    """
    step = plan.steps[index]
    if step.subtask == prompt and not step.access:
        return (Message(role="user", content=prompt),)
    parts = [PREAMBLE, section("question", prompt)]
    for earlier in step.access:
        parts.append(section("subtask", plan.steps[earlier].subtask, agent=earlier))
        parts.append(section("response", responses[earlier], agent=earlier))
    parts.append(section("your-subtask", step.subtask))
    return (Message(role="user", content="\n\n".join(parts)),)


def section(tag: str, text: str, *, agent: int | None = None) -> str:
    """Return `text` between tags, with our own tags inside it defused."""
    attribute = "" if agent is None else f' agent="{agent}"'
    return f"<{tag}{attribute}>\n{_OUR_TAGS.sub('‹', text)}\n</{tag}>"
