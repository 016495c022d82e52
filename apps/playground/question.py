"""The messages and parameters beside a run's prompt, as pages show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext

from apps.playground.composing.settings import ComposerSettings, settings_recorded
from apps.playground.message_view import shown_images

NOT_ASKED = frozenset(
    {"delivery", "echo", "explores", "narrowing", "allowed_tiers", "allowed_workers"}
)
"""Parameters of a run that say nothing of the question or the answer's form."""


@dataclass(frozen=True, slots=True)
class Question:
    """What came with a prompt."""

    is_conversation: bool
    """There is more to the question than the prompt: turns, images, tools, a form of
    the answer, sampling."""
    images: tuple[str, ...]
    """What stands for the images of the question."""
    attachments: tuple[Mapping[str, Any], ...]
    """Files and images that a person attached, as the record says."""
    tools: tuple[str, ...]
    """Names of the caller's tools."""
    form: str
    """What form the answer was to have, as a sentence; empty: any."""
    settings: ComposerSettings
    """System prompt, temperature and limits."""
    delivery: str
    """How the answer went out, if that was asked for: live or verified."""


def question_of(recorded: str) -> Question:
    """Return a question from the parameters on record, a JSON object or nothing."""
    params: dict[str, Any] = orjson.loads(recorded or "{}")
    return Question(
        is_conversation=not params.keys() <= NOT_ASKED,
        images=shown_images(params.get("messages", ())),
        attachments=tuple(params.get("attachments", ())),
        tools=tuple(tool["function"]["name"] for tool in params.get("tools", ())),
        form=_form(params.get("response_format") or {}),
        settings=settings_recorded(params),
        delivery=params.get("delivery") or "",
    )


def _form(response_format: Mapping[str, Any]) -> str:
    """Return what form the answer was to have, as a sentence; empty: any."""
    if response_format.get("type") == "json_object":
        return gettext("The answer was to be a JSON object")
    if named := response_format.get("json_schema"):
        words = gettext("The answer was to be JSON by the schema “{name}”")
        return words.format(name=named.get("name", ""))
    return ""
