"""Conversations of the member or API key that sends the request, and their turns.

Other members can read the runs, but only the owner finds the conversation.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_RUNS, RUN
from apps.conversations.models import (
    FOLDER_LENGTH,
    NAME_LENGTH,
    Conversation,
    Turn,
)
from apps.conversations.selectors import (
    conversation_access,
    conversation_search,
    shown_turns,
    titles_of,
    turn_texts,
)
from apps.conversations.services import (
    conversation_change,
    conversation_create,
    conversation_delete,
    conversation_of_run,
    conversation_show,
    run_of,
    turn_of,
    turn_prepare,
    turn_repeat,
    turn_start,
)
from apps.rest.fields import Flag, Input, Output, TextField, Time
from apps.rest.pagination import Page, PageQuery, page_by_place
from apps.rest.resources.presets.calls import preset_filled_in
from apps.rest.resources.run_lists.run_filters import GAPS_HEADER
from apps.rest.resources.run_outputs import RunOutput
from apps.rest.resources.runs import EXAMPLE as RUN_EXAMPLE
from apps.rest.resources.runs import PresetPromptInput, prompt_sent, run_order
from apps.rest.schema import operation
from apps.rest.throttles import pass_run
from apps.rest.views import RestView
from apps.runs.models import Run, Source
from apps.runs.selectors import access_run, run_view

TAG = "Conversations"
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000a",
    "title": "Is 2027 a prime number? Check it twice.",
    "name": "",
    "folder": "Numbers",
    "is_pinned": False,
    "created_at": "2026-11-21T15:53:16.000000Z",
    "used_at": "2026-11-21T15:55:02.000000Z",
    "shown": "0199c0de-0000-7000-8000-00000000000b",
}
TURN_EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000b",
    "continues": None,
    "variant": 1,
    "variants": ["0199c0de-0000-7000-8000-00000000000b"],
    "prompt": "Is 2027 a prime number? Check it twice.",
    "answer": "Yes.",
    "run": RUN_EXAMPLE,
}
BEGUN = {**RUN_EXAMPLE, "state": "running", "finished_at": None}


# --- what comes in -------------------------------------------------------------------


class ConversationInput(Input):
    """What its owner says of a conversation."""

    name = TextField(
        max_length=NAME_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Empty: it is called by its first prompt.",
    )
    folder = TextField(
        max_length=FOLDER_LENGTH,
        required=False,
        allow_blank=True,
        help_text="Empty: it is in none.",
    )
    is_pinned = Flag(required=False, help_text="True: it stands first in lists.")


class NewConversationInput(ConversationInput):
    """A conversation to begin."""

    run_id = serializers.UUIDField(
        required=False,
        help_text="A run of the team that it begins with. Without it, it is empty.",
    )


class ConversationChangeInput(ConversationInput):
    """What changes."""

    shown = serializers.UUIDField(
        required=False,
        help_text="A turn: the path through it that was used last is shown.",
    )


class ConversationQuery(PageQuery):
    """Which conversations, and which page of them."""

    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text="A part of the name, or words of prompts and answers. The header "
        "`Search-Gaps` says what was not searched.",
    )
    folder = serializers.CharField(required=False, max_length=FOLDER_LENGTH)


class TurnInput(PresetPromptInput):
    """A prompt or a preset, and where its turn stands."""

    continues = serializers.UUIDField(
        required=False,
        help_text="The turn that it follows. Default: the last one that is shown; if "
        "that has ended without an answer, it is replaced.",
    )
    replaces = serializers.UUIDField(
        required=False,
        help_text="A turn that it stands beside, as another variant.",
    )
    system = TextField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="System prompt from now on. Empty: none. Default: as it was.",
    )


class RepeatInput(Input):
    """What answers this time."""

    model = TextField(
        max_length=200, required=False, help_text="Default: the same as before."
    )


# --- what goes out -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Titled:
    conversation: Conversation
    title: str


class ConversationOutput(Output):
    """A conversation."""

    id = serializers.UUIDField(source="conversation.id")
    title = serializers.CharField(
        help_text="What it is called: its name, or how its first prompt begins."
    )
    name = serializers.CharField(source="conversation.name")
    folder = serializers.CharField(source="conversation.folder")
    is_pinned = serializers.BooleanField(source="conversation.is_pinned")
    created_at = Time(source="conversation.created_at")
    used_at = Time(source="conversation.used_at", help_text="When its last turn began.")
    shown = serializers.UUIDField(
        source="conversation.shown_id",
        allow_null=True,
        help_text="The last turn of the path that is shown. Null: there is no turn.",
    )


class TurnOutput(Output):
    """A prompt and its answer."""

    id = serializers.UUIDField(source="shown.turn.id")
    continues = serializers.UUIDField(
        source="shown.turn.continues_id",
        allow_null=True,
        help_text="The turn before it. Null: there is none.",
    )
    variant = serializers.IntegerField(
        source="shown.place", help_text="Its place among `variants`, from 1."
    )
    variants = serializers.ListField(
        source="shown.variants",
        child=serializers.UUIDField(),
        help_text="All turns that continue the same one, the oldest first.",
    )
    prompt = serializers.CharField(help_text="Empty: it has been erased.")
    answer = serializers.CharField(help_text="Empty: there is none, or not yet.")
    run = RunOutput(source="shown.run")


class BegunTurnOutput(Output):
    """A turn whose run has just begun."""

    id = serializers.UUIDField(source="turn.id")
    conversation = serializers.UUIDField(source="turn.conversation_id")
    continues = serializers.UUIDField(source="turn.continues_id", allow_null=True)
    run = RunOutput()


# --- operations ----------------------------------------------------------------------


class Conversations(RestView):
    """The conversations of the member or API key."""

    tag = TAG
    rights = {"GET": READ_RUNS, "POST": RUN}

    @operation(
        "conversation_list",
        "List conversations",
        page_of=ConversationOutput,
        query=ConversationQuery,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return your conversations: pinned ones first, then those used last."""
        asked = self.read_page(ConversationQuery)
        cursor, limit = asked.pop("cursor"), asked.pop("limit")
        principal = self.principal
        search = conversation_search(
            principal.team_id,
            principal.actor,
            query=asked.get("query", ""),
            folder=asked.get("folder"),
        )
        page = page_by_place(search.found, cursor=cursor, limit=limit)
        answer = self.paged(
            Page(_titled(page.data), page.next_cursor), ConversationOutput
        )
        if search.runs and search.runs.gaps:
            answer[GAPS_HEADER] = ", ".join(search.runs.gaps)
        return answer

    @operation(
        "conversation_create",
        "Begin a conversation",
        body=NewConversationInput,
        answer=ConversationOutput,
        status=201,
        errors=(422,),
        sent={"folder": "Numbers"},
        example={**EXAMPLE, "shown": None, "title": "New conversation"},
    )
    def post(self, request: Request) -> Response:
        """Begin a conversation: empty, or with a run from elsewhere as first turn."""
        values = self.read(NewConversationInput)
        principal, run_id = self.principal, values.pop("run_id", None)
        if run_id is None:
            made = conversation_create(
                team_id=principal.team_id, owner=principal.actor, values=values
            )
        else:
            principal.require(READ_RUNS)
            run = access_run(team_id=principal.team_id, run_id=run_id)
            made = conversation_of_run(run, principal.actor, values)
        location = reverse("rest:conversation", args=[made.id])
        return self.created(_output(made), location)


class OneConversation(RestView):
    """One conversation."""

    tag = TAG
    rights = {"GET": READ_RUNS, "PATCH": RUN, "DELETE": RUN}

    @operation(
        "conversation_get",
        "Read a conversation",
        answer=ConversationOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Return a conversation; its turns are at `turns/`."""
        return Response(_output(_own(self, conversation_id)))

    @operation(
        "conversation_update",
        "Change a conversation",
        body=ConversationChangeInput,
        answer=ConversationOutput,
        sent={"name": "Primes", "is_pinned": True},
        example={**EXAMPLE, "name": "Primes", "title": "Primes", "is_pinned": True},
    )
    def patch(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Change the name, the folder, the pin, or which variants are shown."""
        conversation = _own(self, conversation_id)
        values = self.read(ConversationChangeInput, is_partial=True)
        if turn_id := values.pop("shown", None):
            conversation_show(conversation, turn_id)
        return Response(_output(conversation_change(conversation, values)))

    @operation("conversation_delete", "Delete a conversation", status=204)
    def delete(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Delete a conversation. Its runs stay on record, as long as retention says."""
        conversation_delete(_own(self, conversation_id), self.principal.actor)
        return Response(status=204)


class ConversationTurns(RestView):
    """The turns of a conversation that are shown."""

    tag = TAG
    starts_runs = True
    rights = {"GET": READ_RUNS, "POST": RUN}

    @operation(
        "turn_list",
        "List turns",
        page_of=TurnOutput,
        query=PageQuery,
        example=TURN_EXAMPLE,
    )
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Return the turns on the path that is shown, the first one first."""
        turns = shown_turns(_own(self, conversation_id))
        page = page_by_place(turns, **self.read_page())
        said = [turn_texts(turn) for turn in page.data]
        return self.paged(Page(said, page.next_cursor), TurnOutput)

    @operation(
        "turn_create",
        "Continue a conversation",
        body=TurnInput,
        answer=BegunTurnOutput,
        status=201,
        errors=(409, 422),
        sent={"model": "conductor-ultra", "prompt": "And 2029?"},
        example={
            "id": TURN_EXAMPLE["id"],
            "conversation": EXAMPLE["id"],
            "continues": None,
            "run": BEGUN,
        },
    )
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Start the run of the next turn, with everything that was said before it.

        If that is too long, the oldest messages are left out, and the messages say so.
        With `preset`, the prompt is made of the variables of a preset.
        """
        conversation = _own(self, conversation_id)
        values = self.read(TurnInput)
        self.principal.require(READ_RUNS)
        preset = preset_filled_in(self.principal, values)
        asked = turn_prepare(
            conversation,
            prompt_sent(self.principal, values),
            continues=values.pop("continues", None),
            replaces=values.pop("replaces", None),
        )
        admission = pass_run(self, values["model"], asked.prompt)
        order = run_order(self.principal, admission, asked, values, preset)
        return _begun(self, conversation, turn_start(conversation, asked, order))


class TurnRepeat(RestView):
    """Asking the same again."""

    tag = TAG
    starts_runs = True
    rights = {"POST": RUN}

    @operation(
        "turn_repeat",
        "Repeat a turn",
        body=RepeatInput,
        answer=BegunTurnOutput,
        status=201,
        errors=(400, 409, 422),
        sent={"model": "conductor-mini"},
        example={
            "id": TURN_EXAMPLE["id"],
            "conversation": EXAMPLE["id"],
            "continues": None,
            "run": BEGUN,
        },
    )
    def post(
        self, request: Request, conversation_id: uuid.UUID, turn_id: uuid.UUID
    ) -> Response:
        """Ask the same again, as another variant of the turn."""
        conversation = _own(self, conversation_id)
        values = self.read(RepeatInput)
        self.principal.require(READ_RUNS)
        turn = turn_of(conversation, turn_id)
        run = run_of(conversation, turn)
        model = values.get("model")
        admission = pass_run(self, model or run.model, run_view(run).prompt)
        new = turn_repeat(
            conversation,
            turn,
            self.principal,
            admission,
            source=Source.REST.value,
            model=model,
        )
        return _begun(self, conversation, new)


def _own(view: RestView, conversation_id: uuid.UUID) -> Conversation:
    principal = view.principal
    return conversation_access(
        team_id=principal.team_id,
        owner=principal.actor,
        conversation_id=conversation_id,
    )


def _titled(conversations: Sequence[Conversation]) -> list[_Titled]:
    titles = titles_of(conversations)
    return [_Titled(each, titles[each.id]) for each in conversations]


def _output(conversation: Conversation) -> Mapping[str, Any]:
    (titled,) = _titled([conversation])
    shown: Mapping[str, Any] = ConversationOutput(titled).data
    return shown


@dataclass(frozen=True, slots=True)
class _Begun:
    turn: Turn
    run: Run


def _begun(view: RestView, conversation: Conversation, turn: Turn) -> Response:
    begun = _Begun(turn, run_of(conversation, turn))
    location = reverse("rest:run", args=[turn.run_id])
    return view.created(BegunTurnOutput(begun).data, location)
