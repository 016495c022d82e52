"""Begins, continues, changes and deletes conversations.

A new turn takes three calls: `turn_prepare`, the admission of the run with the prompt
that it returns, and `turn_start`. The first and the last check no right.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from apps.accounts.principal import Principal
from apps.attachments.models import Attachment
from apps.attachments.selectors import attachment_facts
from apps.attachments.services import prompt_parts
from apps.audit.types import SERVICE, Actor
from apps.budgets.rate_limits import Admission
from apps.conversations.history import (
    has_answer,
    history_after,
    history_before,
    stated_class,
    with_prompt,
    with_system,
)
from apps.conversations.models import (
    FOLDER_LENGTH,
    NAME_LENGTH,
    Conversation,
    Turn,
)
from apps.conversations.selectors import newest_after, shown_turns
from apps.core.data_classes import DataClassName, data_class_read, highest
from apps.core.errors import InvalidInput, NotFound
from apps.core.ids import new_id
from apps.core.validation import Cleaner, clean_fields, clean_switch, clean_text
from apps.engine.messages import question_of
from apps.engine.ports import Messages
from apps.runs.forks import order_again
from apps.runs.models import Run
from apps.runs.selectors import access_run, record_of
from apps.runs.services import run_start_blocking
from apps.runs.types import RunOrder, RunRecord


@dataclass(frozen=True, slots=True)
class NextTurn:
    """What the run of a turn is asked, and where the turn stands."""

    continues: Turn | None
    """None: a conversation begins with it."""
    messages: Messages
    """With everything that was said before. Empty: `prompt` is all there is."""
    prompt: str
    """The question that stands for the messages."""
    data_class: DataClassName | None = None
    """Stated for what was said before. None: nothing was."""
    attachments: tuple[Mapping[str, Any], ...] = ()
    """What the record says of the files and images in the last message."""


def conversation_create(
    *, team_id: uuid.UUID, owner: Actor, values: Mapping[str, Any] | None = None
) -> Conversation:
    """Create a conversation without a turn. Raises: InvalidFields."""
    cleaned = clean_fields(values or {}, CLEANERS)
    return Conversation.objects.create(
        team_id=team_id,
        owner_type=owner.type,
        owner_id=owner.id,
        used_at=timezone.now(),
        **cleaned,
    )


@transaction.atomic
def conversation_of_run(
    run: Run, owner: Actor, values: Mapping[str, Any] | None = None
) -> Conversation:
    """Create a conversation that begins with a run from elsewhere.

    Raises: InvalidFields.
    """
    conversation = conversation_create(team_id=run.team_id, owner=owner, values=values)
    _append(conversation, None, run.id)
    return conversation


def conversation_change(
    conversation: Conversation, values: Mapping[str, Any]
) -> Conversation:
    """Change the name, the folder, or whether it is pinned. Raises: InvalidFields."""
    cleaned = clean_fields(values, CLEANERS)
    for name, value in cleaned.items():
        setattr(conversation, name, value)
    if cleaned:
        conversation.save(update_fields=list(cleaned))
    return conversation


def conversation_show(conversation: Conversation, turn_id: uuid.UUID) -> Conversation:
    """Show the path through a turn that was used last. Raises: NotFound."""
    conversation.shown = newest_after(turn_of(conversation, turn_id))
    conversation.save(update_fields=["shown"])
    return conversation


@transaction.atomic
def conversation_delete(conversation: Conversation, actor: Actor = SERVICE) -> None:
    """Delete a conversation. Its runs stay on record, as long as retention says.

    What shows it to others ends, on record, in the same transaction.
    """
    _end_what_shows(conversation.team_id, [conversation.id], actor)
    conversation.delete()


def conversations_delete(
    found: QuerySet[Conversation], *, team_id: uuid.UUID, limit: int
) -> list[uuid.UUID]:
    """Delete some of a team's conversations found, in the open transaction; return ids.

    One that gets a turn meanwhile stays. Their runs stay on record.
    """
    locked = found.select_for_update(of=("self",)).order_by("id")[:limit]
    ids = list(locked.values_list("id", flat=True))
    if ids:
        _end_what_shows(team_id, ids, SERVICE)
        found.filter(id__in=ids).delete()
    return ids


def _end_what_shows(
    team_id: uuid.UUID, conversation_ids: Collection[uuid.UUID], actor: Actor
) -> None:
    import_string(settings.CONVERSATIONS_GONE)(team_id, conversation_ids, actor)


def names_erase(team_id: uuid.UUID, run_ids: Collection[uuid.UUID]) -> None:
    """Remove the names of conversations whose first prompts are erased.

    Call it in the transaction that erases the texts of the runs.
    """
    first = Turn.objects.filter(run_id__in=run_ids, continues=None)
    rows = Conversation.objects.for_team(team_id).exclude(name="")
    rows.filter(id__in=first.values("conversation_id")).update(name="")


def turn_of(conversation: Conversation, turn_id: uuid.UUID) -> Turn:
    """Return a turn of a conversation. Raises: NotFound for any other one."""
    turn = conversation.turns.filter(id=turn_id).first()
    if turn is None:
        raise NotFound(f"the conversation has no turn {str(turn_id)!r}")
    return turn


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person or program says next."""

    text: str
    system: str | None = None
    """The system prompt in place of what there was. None: as it was."""
    attached: tuple[Attachment, ...] = ()


def prompt_prepare(prompt: Prompt) -> NextTurn:
    """Return what a run is asked that continues nothing. Raises: PromptTooLong."""
    return _asked(None, (), prompt, None)


def run_continue(run: Run, prompt: Prompt) -> NextTurn:
    """Return what a run is asked that continues another one from elsewhere.

    Raises: as `turn_prepare`.
    """
    record = record_of(run)
    return _asked(None, history_after(record), prompt, record)


def turn_prepare(
    conversation: Conversation,
    prompt: Prompt,
    *,
    continues: uuid.UUID | None = None,
    replaces: uuid.UUID | None = None,
) -> NextTurn:
    """Return what the run of the next turn is asked.

    It follows the turn `continues`, or stands beside the turn `replaces`; without
    either it follows the last one that is shown, or stands beside it if that has ended
    without an answer.

    Raises: NotFound; Conflict if nothing can follow that turn; PromptTooLong.
    """
    if continues and replaces:
        raise InvalidInput(
            "continues and replaces exclude each other", param="replaces"
        )
    before = turn_of(conversation, continues) if continues else None
    beside = turn_of(conversation, replaces) if replaces else None
    if not (before or beside) and (turns := shown_turns(conversation)):
        shown = turns[-1].turn
        record = record_of(turns[-1].run)
        is_lost = record.summary is not None and not has_answer(record)
        before, beside = (None, shown) if is_lost else (shown, None)
    if before:
        record = record_of(run_of(conversation, before))
        return _asked(before, history_after(record), prompt, record)
    if beside:
        record = record_of(run_of(conversation, beside))
        return _asked(beside.continues, history_before(record), prompt, record)
    return prompt_prepare(prompt)


def turn_start(conversation: Conversation, asked: NextTurn, order: RunOrder) -> Turn:
    """Start the run of a prepared turn; the turn is shown from then on.

    Blocks; not for the event loop. Raises: as `run_start_blocking`.
    """
    return _start(conversation, asked.continues, prepared_order(asked, order))


def prepared_order(asked: NextTurn, order: RunOrder) -> RunOrder:
    """Return an order that asks what was prepared.

    What was stated of the texts before it holds for it too. Raises: InvalidInput.
    """
    own = order.restrictions.data_class
    stated = [asked.data_class] if asked.data_class else []
    if own is not None:
        stated.append(data_class_read(own, param="data_class"))
    restrictions = order.restrictions
    if stated:
        restrictions = replace(restrictions, data_class=highest(stated))
    return replace(
        order,
        prompt=asked.prompt,
        messages=asked.messages,
        attachments=asked.attachments,
        restrictions=restrictions,
    )


def turn_repeat(
    conversation: Conversation,
    turn: Turn,
    principal: Principal,
    admission: Admission,
    *,
    source: str,
    model: str | None = None,
) -> Turn:
    """Ask the same again beside a turn, of `model` if one is given.

    Blocks; not for the event loop. Raises: as `run_rerun`.
    """
    order = order_again(run_of(conversation, turn), principal, admission, source)
    if model:
        restrictions = replace(order.restrictions, workers=())
        order = replace(order, model=model, restrictions=restrictions)
    order = replace(order, planner=None, reused=(), derived_from=None)
    return _start(conversation, turn.continues, order)


def run_of(conversation: Conversation, turn: Turn) -> Run:
    """Return the run of a turn. Raises: NotFound."""
    return access_run(team_id=conversation.team_id, run_id=turn.run_id)


def _asked(
    continues: Turn | None,
    history: Messages,
    prompt: Prompt,
    record: RunRecord | None,
) -> NextTurn:
    if prompt.system is not None:
        history = with_system(history, prompt.system)
    data_class = stated_class(record) if record else None
    if not (history or prompt.attached):
        return NextTurn(continues, (), prompt.text, data_class)
    attached = prompt.attached
    content = prompt_parts(attached, prompt.text) if attached else prompt.text
    messages = with_prompt(history, content)
    facts = tuple(attachment_facts(each) for each in attached)
    return NextTurn(continues, messages, question_of(messages), data_class, facts)


def _start(conversation: Conversation, continues: Turn | None, order: RunOrder) -> Turn:
    """Store the turn first: a run that is on record is then never without it."""
    shown_before = conversation.shown
    with transaction.atomic():
        turn = _append(conversation, continues, new_id())
    try:
        run_start_blocking(order, turn.run_id)
    except Exception:
        with transaction.atomic():
            conversation.shown = shown_before
            conversation.save(update_fields=["shown"])
            turn.delete()
        raise
    return turn


def _append(
    conversation: Conversation, continues: Turn | None, run_id: uuid.UUID
) -> Turn:
    turn = Turn.objects.create(
        conversation=conversation, run_id=run_id, continues=continues
    )
    conversation.shown = turn
    conversation.used_at = timezone.now()
    conversation.save(update_fields=["shown", "used_at"])
    return turn


def _line(what: str, longest: int) -> Cleaner:
    def clean(value: Any) -> str:
        return "" if value == "" else clean_text(value, what, longest)

    return clean


CLEANERS: Mapping[str, Cleaner] = {
    "name": _line("name", NAME_LENGTH),
    "folder": _line("folder", FOLDER_LENGTH),
    "is_pinned": clean_switch,
}
