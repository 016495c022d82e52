"""What a form of the composer asks: its prompt, after all that was said before."""

from __future__ import annotations

import uuid

from apps.attachments.selectors import attachments_own
from apps.conversations.models import Conversation
from apps.conversations.selectors import conversation_access
from apps.conversations.services import (
    NextTurn,
    Prompt,
    prompt_prepare,
    run_continue,
    turn_prepare,
)
from apps.playground.composing.presets import preset_sent
from apps.playground.forms import RunForm
from apps.runs.selectors import access_run
from apps.web.team_access import TeamRequest


def prompt_asked(request: TeamRequest, form: RunForm) -> NextTurn:
    """Return what the run would be asked that a form describes. Raises: Conflict."""
    text, _ = preset_sent(request, form.cleaned_data["prompt"])
    return text_asked(request, form, text)


def text_asked(request: TeamRequest, form: RunForm, text: str) -> NextTurn:
    """Return the same for a text that a preset has made of the form, or not."""
    prompt = prompt_of_form(request, form, text)
    if conversation_id := id_in(request.POST.get("conversation", "")):
        conversation = conversation_own(request, conversation_id)
        replaces = form.cleaned_data["replaces"]
        return turn_prepare(conversation, prompt, replaces=replaces)
    if run_id := id_in(request.POST.get("run", "")):
        run = access_run(team_id=request.team.id, run_id=run_id)
        return run_continue(run, prompt)
    return prompt_prepare(prompt)


def prompt_of_form(request: TeamRequest, form: RunForm, text: str) -> Prompt:
    """Return what a form says next, in this text, with its attachments.

    Raises: InvalidInput for a foreign attachment.
    """
    data = form.cleaned_data
    attached = attachments_own(
        request.team.id, request.actor, data["attachments"], param="attachment"
    )
    return Prompt(text, data["system"], tuple(attached))


def conversation_own(request: TeamRequest, conversation_id: uuid.UUID) -> Conversation:
    return conversation_access(
        team_id=request.team.id,
        owner=request.actor,
        conversation_id=conversation_id,
    )


def id_in(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(text)
    except ValueError:
        return None
