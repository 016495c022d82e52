"""Share links of runs and conversations, and what a team allows."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import (
    MANAGE_SHARING,
    READ_SHARING,
    REVOKE_OWN_LINKS,
    SHARE_RUNS,
)
from apps.conversations.models import Conversation
from apps.conversations.selectors import conversation_access
from apps.core.data_classes import DATA_CLASSES
from apps.rest.fields import Flag, Id, Input, Output, TextField, Time, Whole, Word
from apps.rest.pagination import Page, PageQuery, page_by_id
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.selectors import access_run
from apps.sharing.models import LONGEST_DAYS, NOTE_LENGTH, ShareLink
from apps.sharing.selectors import (
    access_share_link,
    link_states,
    notes_of,
    share_link_list,
    sharing_status,
)
from apps.sharing.services import (
    HOURS_A_DAY,
    Shared,
    share_link_create,
    share_link_revoke,
    sharing_set,
    turn_to_share,
)
from apps.sharing.types import LinkFilters, LinkState

TAG = "Share links"
LINK_STATES = tuple(state.value for state in LinkState)
SETTINGS_EXAMPLE: dict[str, Any] = {
    "is_on": True,
    "is_allowed": True,
    "max_days": 30,
    "highest_class": "internal",
}
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000c",
    "run_id": "0199c0de-0000-7000-8000-000000000001",
    "conversation_id": None,
    "state": "open",
    "note": "For the auditor",
    "has_plan": False,
    "has_name": False,
    "data_class": "internal",
    "made_by": "Alice",
    "created_at": "2026-11-21T15:53:16.000000Z",
    "expires_at": "2026-11-28T15:53:16.000000Z",
    "revoked_at": None,
    "revoked_by": None,
    "views": 3,
    "last_viewed_at": "2026-11-22T09:00:00.000000Z",
}
MADE_EXAMPLE = {
    **EXAMPLE,
    "url": "http://127.0.0.1:8000/shared/Zk3…/",
}
SENT = {"hours": 168, "note": "For the auditor"}


class SharingInput(Input):
    """What a team allows."""

    is_on = Flag(help_text="False ends all links for good.")
    max_days = Whole(
        min_value=1, max_value=LONGEST_DAYS, help_text="The longest time of a link."
    )
    highest_class = Word(
        choices=DATA_CLASSES, help_text="Nothing of a higher data class is shared."
    )


class SharingOutput(Output):
    """What a team, and the site, allow."""

    is_on = serializers.BooleanField()
    is_allowed = serializers.BooleanField(
        help_text="False: the operator forbids share links, so none works."
    )
    max_days = serializers.IntegerField()
    highest_class = serializers.ChoiceField(choices=DATA_CLASSES)


class ShareLinkInput(Input):
    """How long a link works, and what it shows."""

    hours = Whole(min_value=1, max_value=LONGEST_DAYS * HOURS_A_DAY)
    note = TextField(
        required=False,
        allow_blank=True,
        max_length=NOTE_LENGTH,
        help_text="For your team; visitors do not see it.",
    )
    has_plan = Flag(
        default=False, help_text="Plans, subtasks and answers of steps are shown."
    )
    has_name = Flag(default=False, help_text="Your name is shown.")


class ShareLinkOutput(Output):
    """A share link. Its secret cannot be read again."""

    id = serializers.UUIDField()
    run_id = serializers.UUIDField(
        allow_null=True, help_text="Null: a conversation is shown."
    )
    conversation_id = serializers.UUIDField(
        allow_null=True,
        help_text="Null: a run is shown.",
    )
    state = serializers.ChoiceField(choices=LINK_STATES)
    note = serializers.CharField(help_text="Empty: there is none, or it was erased.")
    has_plan = serializers.BooleanField()
    has_name = serializers.BooleanField()
    data_class = serializers.ChoiceField(
        choices=DATA_CLASSES, help_text="The highest of what is shown."
    )
    made_by = serializers.CharField()
    created_at = Time()
    expires_at = Time()
    revoked_at = Time(allow_null=True, help_text="Null: nobody revoked it.")
    revoked_by = serializers.CharField(allow_null=True)
    views = serializers.IntegerField(
        help_text="Those within a minute after one that was counted are not counted."
    )
    last_viewed_at = Time(allow_null=True, help_text="Null: it was never opened.")


class ShareLinkMadeOutput(ShareLinkOutput):
    """A new share link, with its address, which is shown this once."""

    url = serializers.CharField(help_text="Anyone who has it can read what is shared.")


class ShareLinkQuery(PageQuery):
    """Which links are wanted."""

    state = serializers.ChoiceField(
        choices=LINK_STATES, required=False, help_text="Any, if it is left out."
    )
    user_id = Id(required=False, help_text="Of the member who made them.")
    run_id = Id(required=False)
    conversation_id = Id(required=False)


class SharingView(RestView):
    """What the team allows."""

    tag = TAG
    rights = {"GET": READ_SHARING, "PATCH": MANAGE_SHARING}

    @operation(
        "sharing_get",
        "Read what can be shared",
        answer=SharingOutput,
        example=SETTINGS_EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return whether share links work, for how long and up to which data class."""
        return Response(SharingOutput(sharing_status(self.principal.team_id)).data)

    @operation(
        "sharing_update",
        "Allow share links",
        body=SharingInput,
        is_partial=True,
        answer=SharingOutput,
        sent={"is_on": True},
        example=SETTINGS_EXAMPLE,
    )
    def patch(self, request: Request) -> Response:
        """Allow share links, or turn them off, which ends all of them."""
        status = sharing_set(
            team=self.principal.team,
            values=self.read(SharingInput, is_partial=True),
            actor=self.principal.actor,
        )
        return Response(SharingOutput(status).data)


class _LinkView(RestView):
    tag = TAG

    def answer_page(self, rows: QuerySet[ShareLink], page: dict[str, Any]) -> Response:
        """Answer with a page of links."""
        found = page_by_id(rows, cursor=page["cursor"], limit=page["limit"])
        shown = _shown(found.data)
        return self.paged(Page(shown, found.next_cursor), ShareLinkOutput)

    def answer_made(self, shared: Shared) -> Response:
        """Make a link and answer with its address."""
        values = self.read(ShareLinkInput)
        link, secret = share_link_create(
            principal=self.principal, shared=shared, values=values
        )
        [shown] = _shown([link])
        path = reverse("playground:shared", args=[secret])
        shown["url"] = f"{settings.CONDUCTOR_URL}{path}"
        place = reverse("rest:share_link", args=[link.id])
        return self.created(ShareLinkMadeOutput(shown).data, place)


class ShareLinks(_LinkView):
    """All links of the team."""

    rights = {"GET": MANAGE_SHARING}

    @operation(
        "share_link_list",
        "List share links",
        query=ShareLinkQuery,
        page_of=ShareLinkOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return the share links of the team, newest first."""
        wanted = self.read_page(ShareLinkQuery)
        state = wanted.get("state")
        filters = LinkFilters(
            state=LinkState(state) if state else None,
            user_id=wanted.get("user_id"),
            run_id=wanted.get("run_id"),
            conversation_id=wanted.get("conversation_id"),
        )
        return self.answer_page(
            share_link_list(self.principal.team_id, filters), wanted
        )


class RunShareLinks(_LinkView):
    """The links of a run."""

    rights = {"GET": SHARE_RUNS, "POST": SHARE_RUNS}

    @operation(
        "run_share_link_list",
        "List the share links of a run",
        page_of=ShareLinkOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return the share links of a run, newest first."""
        filters = self._shared(run_id).filters
        rows = share_link_list(self.principal.team_id, filters)
        return self.answer_page(rows, self.read_page())

    @operation(
        "run_share_link_create",
        "Share a run",
        body=ShareLinkInput,
        answer=ShareLinkMadeOutput,
        status=201,
        errors=(409,),
        sent=SENT,
        example=MADE_EXAMPLE,
    )
    def post(self, request: Request, run_id: uuid.UUID) -> Response:
        """Make an address at which anyone reads a run that has ended, for a while."""
        return self.answer_made(self._shared(run_id))

    def _shared(self, run_id: uuid.UUID) -> Shared:
        team_id = self.principal.team_id
        return Shared(run=access_run(team_id=team_id, run_id=run_id))


class ConversationShareLinks(_LinkView):
    """The links of one's own conversation."""

    rights = {"GET": SHARE_RUNS, "POST": SHARE_RUNS}

    @operation(
        "conversation_share_link_list",
        "List the share links of a conversation",
        page_of=ShareLinkOutput,
        example={**EXAMPLE, "run_id": None, "conversation_id": EXAMPLE["run_id"]},
    )
    def get(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Return the share links of a conversation, newest first."""
        own = self._own(conversation_id)
        filters = LinkFilters(conversation_id=own.id)
        rows = share_link_list(self.principal.team_id, filters)
        return self.answer_page(rows, self.read_page())

    @operation(
        "conversation_share_link_create",
        "Share a conversation",
        body=ShareLinkInput,
        answer=ShareLinkMadeOutput,
        status=201,
        errors=(409,),
        sent=SENT,
        example={**MADE_EXAMPLE, "run_id": None, "conversation_id": EXAMPLE["run_id"]},
    )
    def post(self, request: Request, conversation_id: uuid.UUID) -> Response:
        """Make an address at which anyone reads the turns up to now, for a while."""
        own = self._own(conversation_id)
        return self.answer_made(Shared(turn=turn_to_share(own)))

    def _own(self, conversation_id: uuid.UUID) -> Conversation:
        return conversation_access(
            team_id=self.principal.team_id,
            owner=self.principal.actor,
            conversation_id=conversation_id,
        )


class OneShareLink(RestView):
    """One link."""

    tag = TAG
    rights = {"GET": SHARE_RUNS}

    @operation(
        "share_link_get", "Read a share link", answer=ShareLinkOutput, example=EXAMPLE
    )
    def get(self, request: Request, link_id: uuid.UUID) -> Response:
        """Return a share link of the team, in whatever state."""
        link = access_share_link(self.principal.team_id, link_id)
        return Response(ShareLinkOutput(_shown([link])[0]).data)


class ShareLinkRevoke(RestView):
    """The end of a link."""

    tag = TAG
    rights = {"POST": REVOKE_OWN_LINKS}

    @operation(
        "share_link_revoke",
        "Revoke a share link",
        answer=ShareLinkOutput,
        example={**EXAMPLE, "state": "revoked"},
    )
    def post(self, request: Request, link_id: uuid.UUID) -> Response:
        """End a link for good: yours, or as an owner or admin anyone's."""
        link = share_link_revoke(
            link=access_share_link(self.principal.team_id, link_id),
            principal=self.principal,
        )
        return Response(ShareLinkOutput(_shown([link])[0]).data)


def _shown(links: Sequence[ShareLink]) -> list[dict[str, Any]]:
    """Return what answers hold of some links of one team."""
    notes, states = notes_of(links), {}
    if links:
        states = link_states(links[0].team_id, links, timezone.now())
    return [
        {
            "id": link.id,
            "run_id": link.run_id,
            "conversation_id": link.turn.conversation_id if link.turn else None,
            "state": states[link.id].value,
            "note": notes.get(link.id, ""),
            "has_plan": link.has_plan,
            "has_name": link.has_name,
            "data_class": link.data_class,
            "made_by": link.made_by_name,
            "created_at": link.created_at,
            "expires_at": link.expires_at,
            "revoked_at": link.revoked_at,
            "revoked_by": link.revoked_by or None,
            "views": link.views,
            "last_viewed_at": link.last_viewed_at,
        }
        for link in links
    ]
