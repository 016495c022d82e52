"""Conversations of one person or API key, and the path of turns that is shown."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop

from apps.audit.types import Actor
from apps.conversations.history import prompt_of, stated_class
from apps.conversations.models import Conversation, Turn
from apps.core.errors import NotFound
from apps.runs.models import Run
from apps.runs.selectors import (
    MatchingLine,
    RunSearch,
    matching_line,
    query_read,
    record_of,
    run_search,
    texts_of_runs,
)
from apps.runs.types import RunFilters

MAX_LINES_SHOWN = 20
"""Conversations of a search that show why they were found: their texts are read."""
UNNAMED = gettext_noop("New conversation")


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn on the path that is shown, among those that could stand in its place."""

    turn: Turn
    run: Run
    variants: tuple[uuid.UUID, ...]
    """Ids of the turns that continue the same one, itself included, the oldest
    first."""

    @property
    def place(self) -> int:
        """Return its place among the variants, from 1."""
        return self.variants.index(self.turn.id) + 1

    @property
    def earlier(self) -> uuid.UUID | None:
        """Return the variant before it, if there is one."""
        return self.variants[self.place - 2] if self.place > 1 else None

    @property
    def later(self) -> uuid.UUID | None:
        """Return the variant after it, if there is one."""
        return self.variants[self.place] if self.place < len(self.variants) else None


@dataclass(frozen=True, slots=True)
class TurnTexts:
    """What was said in a turn that is shown."""

    shown: ShownTurn
    prompt: str
    """Empty: it has been erased."""
    answer: str
    """Empty: there is none, or not yet."""
    attachments: Sequence[Mapping[str, Any]]
    """What the record says of its files and images. Empty: it has none."""
    stated_class: str | None
    """The data class that the turn after it has at least. None: nothing was stated."""


def conversation_list(
    team_id: uuid.UUID, owner: Actor, *, query: str = "", folder: str | None = None
) -> QuerySet[Conversation]:
    """Return the conversations of one owner, pinned ones first, then the newest.

    `query`: a part of its name, or of a prompt's beginning.
    """
    found = _owned(team_id, owner)
    if folder is not None:
        found = found.filter(folder=folder)
    if query:
        turns = Turn.objects.filter(conversation__in=_owned(team_id, owner))
        runs = Run.objects.for_team(team_id).filter(
            id__in=turns.values("run_id"), title__icontains=query
        )
        said = turns.filter(run_id__in=runs.values("id"))
        found = found.filter(
            Q(name__icontains=query) | Q(id__in=said.values("conversation_id"))
        )
    return found


@dataclass(frozen=True, slots=True)
class ConversationSearch:
    """What a search in the conversations of one owner found."""

    found: QuerySet[Conversation]
    """Pinned ones first, then the newest."""
    runs: RunSearch | None = None
    """The search in their texts; it says what it did not look at. None: the query has
    neither letters nor digits, or there is none."""


def conversation_search(
    team_id: uuid.UUID, owner: Actor, *, query: str, folder: str | None = None
) -> ConversationSearch:
    """Find conversations by a part of their name, or by words of what was said."""
    titled = conversation_list(team_id, owner, query=query, folder=folder)
    if not query_read(query).words:
        return ConversationSearch(titled)
    turns = Turn.objects.filter(conversation__in=_owned(team_id, owner))
    searched = run_search(
        team_id=team_id,
        filters=RunFilters(text=query),
        within=turns.values("run_id"),
    )
    said = turns.filter(run_id__in=searched.runs.values("id"))
    both = Q(id__in=titled.values("id")) | Q(id__in=said.values("conversation_id"))
    everything = conversation_list(team_id, owner, folder=folder)
    return ConversationSearch(everything.filter(both), searched)


def conversation_lines(
    search: ConversationSearch, conversations: Sequence[Conversation], query: str
) -> dict[uuid.UUID, MatchingLine]:
    """Return the line for which a search found each of the first conversations.

    Reads the newest run that matches of MAX_LINES_SHOWN conversations. One that was
    found by its name alone, or whose run cannot be read, has no line.
    """
    if search.runs is None:
        return {}
    first = conversations[:MAX_LINES_SHOWN]
    turns = Turn.objects.filter(
        conversation__in=first, run_id__in=search.runs.runs.values("id")
    ).order_by("id")
    runs = dict(turns.values_list("conversation_id", "run_id"))
    texts = dict(texts_of_runs(list(search.runs.runs.filter(id__in=runs.values()))))
    sought = query_read(query).words
    lines = {
        conversation_id: matching_line(texts.get(run_id) or (), sought)
        for conversation_id, run_id in runs.items()
    }
    return {place: line for place, line in lines.items() if line is not None}


def conversations_idle(
    team_id: uuid.UUID,
    before: datetime,
    *,
    keeps_pinned: bool,
    kept_runs: Collection[uuid.UUID],
) -> QuerySet[Conversation]:
    """Return the conversations of a team that had no turn since a moment.

    Of all owners, those who left included. Conversations with one of `kept_runs` among
    their turns are left out, and with `keeps_pinned` the pinned ones.
    """
    found = Conversation.objects.for_team(team_id).filter(used_at__lt=before)
    if keeps_pinned:
        found = found.filter(is_pinned=False)
    if kept_runs:
        kept = Turn.objects.filter(conversation=OuterRef("pk"), run_id__in=kept_runs)
        found = found.filter(~Exists(kept))
    return found


def folder_list(team_id: uuid.UUID, owner: Actor) -> list[str]:
    """Return the names of the folders in use."""
    names = _owned(team_id, owner).exclude(folder="").order_by("folder")
    return list(names.values_list("folder", flat=True).distinct())


def conversation_access(
    *, team_id: uuid.UUID, owner: Actor, conversation_id: uuid.UUID
) -> Conversation:
    """Return a conversation of its owner. Raises: NotFound for any other one."""
    found = _owned(team_id, owner).filter(id=conversation_id).first()
    if found is None:
        raise NotFound(f"you have no conversation {str(conversation_id)!r}")
    return found


def conversations_of_run(
    team_id: uuid.UUID, owner: Actor, run_id: uuid.UUID
) -> list[Conversation]:
    """Return the conversations of an owner that a run is a turn of."""
    return list(_owned(team_id, owner).filter(turns__run_id=run_id))


def conversation_id_of_run(team_id: uuid.UUID, run_id: uuid.UUID) -> uuid.UUID | None:
    """Return the conversation of the team that a run is a turn of, whoever has it.

    None: it is a turn of none. Of several the first one.
    """
    turns = Turn.objects.filter(conversation__team=team_id, run_id=run_id)
    return turns.values_list("conversation_id", flat=True).first()


def runs_of_conversation(
    team_id: uuid.UUID, conversation_id: uuid.UUID
) -> tuple[uuid.UUID, ...]:
    """Return the runs that a team's conversation consists of, replaced turns too."""
    turns = Turn.objects.filter(
        conversation__team=team_id, conversation_id=conversation_id
    )
    return tuple(turns.values_list("run_id", flat=True))


def titles_of(conversations: Sequence[Conversation]) -> dict[uuid.UUID, str]:
    """Return what each conversation is called: by its owner, or its first prompt."""
    if not conversations:
        return {}
    ids = [each.id for each in conversations if not each.name]
    first: dict[uuid.UUID, uuid.UUID] = {}
    for turn in Turn.objects.filter(conversation__in=ids, continues=None):
        first.setdefault(turn.conversation_id, turn.run_id)
    runs = Run.objects.for_team(conversations[0].team_id).filter(id__in=first.values())
    titles = dict(runs.values_list("id", "title"))
    return {
        each.id: each.name
        or (titles.get(first[each.id], "") if each.id in first else "")
        or UNNAMED
        for each in conversations
    }


def shown_turns(conversation: Conversation) -> list[ShownTurn]:
    """Return the path that is shown, the oldest turn first.

    Turns whose run did not come on record are left out.
    """
    turns = {turn.id: turn for turn in conversation.turns.all()}
    run_ids = {turn.run_id for turn in turns.values()}
    runs = Run.objects.for_team(conversation.team_id).in_bulk(run_ids)
    variants: dict[uuid.UUID | None, list[uuid.UUID]] = defaultdict(list)
    for turn in turns.values():
        if turn.run_id in runs:
            variants[turn.continues_id].append(turn.id)
    path: list[ShownTurn] = []
    turn_id = conversation.shown_id
    while turn_id is not None:
        turn = turns[turn_id]
        if run := runs.get(turn.run_id):
            beside = tuple(variants[turn.continues_id])
            path.append(ShownTurn(turn, run, beside))
        turn_id = turn.continues_id
    return path[::-1]


def turn_texts(shown: ShownTurn) -> TurnTexts:
    """Return what was said in a turn."""
    record = record_of(shown.run)
    answer = record.summary.answer if record.summary else ""
    attached = record.params.get("attachments", ())
    return TurnTexts(shown, prompt_of(record), answer, attached, stated_class(record))


def newest_after(turn: Turn) -> Turn:
    """Return the turn that ends the path which leads through `turn` and was used last.

    Ids ascend with time.
    """
    after: dict[uuid.UUID | None, list[Turn]] = defaultdict(list)
    for each in turn.conversation.turns.all():
        after[each.continues_id].append(each)
    while following := after[turn.id]:
        turn = max(following, key=lambda each: each.id)
    return turn


def _owned(team_id: uuid.UUID, owner: Actor) -> QuerySet[Conversation]:
    rows = Conversation.objects.for_team(team_id)
    return rows.filter(owner_type=owner.type, owner_id=owner.id)
