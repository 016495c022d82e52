"""The pages on which a member shares a run or a conversation.

The address is shown in the answer to the form that made it and nowhere else.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Permission
from apps.accounts.rights import SHARE_RUNS
from apps.accounts.selectors import role_allows
from apps.conversations.selectors import conversation_access, titles_of
from apps.core.errors import Conflict, InvalidInput
from apps.playground.sharing.forms import ShareForm
from apps.runs.selectors import access_run
from apps.sharing.models import ShareLink
from apps.sharing.selectors import (
    link_states,
    notes_of,
    share_link_list,
    sharing_status,
)
from apps.sharing.services import Shared, share_link_create, turn_to_share
from apps.sharing.types import LinkState
from apps.web.form_tokens import note_used, once_mark, was_used
from apps.web.formats import sentence
from apps.web.request_context import shown_site_url
from apps.web.team_access import TeamRequest, page, team_view

SHOWN = 50
"""Links of one run or conversation; the page of the team has them all."""
ALREADY_MADE = gettext_noop(
    "That link was made already. Its address is shown once; make another one."
)


@dataclass(frozen=True, slots=True)
class SharePlace:
    """What a page shares, and where it is."""

    shared: Shared
    title: str
    here: str
    """The address of the page."""
    back: str
    """The address of what is shared."""
    section: str


def may_share(request: TeamRequest) -> bool:
    """Say whether pages lead this member to the making of links."""
    role = request.membership.role
    if not role_allows(role, Permission.SHARE_RUNS):
        return False
    status = sharing_status(request.team.id)
    can_allow = role_allows(role, Permission.MANAGE_SHARING)
    return status.works or (status.is_allowed and can_allow)


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def run_share(request: TeamRequest, run_id: uuid.UUID) -> HttpResponseBase:
    """Show the links of a run, and make one."""
    request.principal.require(SHARE_RUNS)
    run = access_run(team_id=request.team.id, run_id=run_id)
    place = SharePlace(
        Shared(run=run),
        run.title or gettext("Erased prompt"),
        reverse("playground:run_share", args=[run.id]),
        reverse("playground:run_detail", args=[run.id]),
        "runs",
    )
    return _share(request, place)


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def conversation_share(
    request: TeamRequest, conversation_id: uuid.UUID
) -> HttpResponseBase:
    """Show the links of one's own conversation, and make one."""
    request.principal.require(SHARE_RUNS)
    conversation = conversation_access(
        team_id=request.team.id,
        owner=request.actor,
        conversation_id=conversation_id,
    )
    place = SharePlace(
        Shared(turn=turn_to_share(conversation)),
        titles_of([conversation])[conversation.id],
        reverse("playground:conversation_share", args=[conversation.id]),
        reverse("playground:conversation", args=[conversation.id]),
        "playground",
    )
    return _share(request, place)


def _share(request: TeamRequest, place: SharePlace) -> HttpResponseBase:
    once = request.POST.get("once", "")
    if was_used(request, once):
        messages.info(request, gettext(ALREADY_MADE))
        return redirect(place.here)
    status = sharing_status(request.team.id)
    is_sent = request.method == "POST"
    form = ShareForm(request.POST if is_sent else None, status)
    if is_sent and form.is_valid():
        made = _made(request, place, form)
        if made is not None:
            note_used(request, once)
            return _made_page(request, place, *made)
    context = {
        "section": place.section,
        "place": place,
        "status": status,
        "form": form,
        "once": once or once_mark(),
        "links": _links(request, place),
        "may_allow": role_allows(request.membership.role, Permission.MANAGE_SHARING),
        "is_conversation": place.shared.turn is not None,
    }
    return page(request, "playground/share.html", context)


def _made(
    request: TeamRequest, place: SharePlace, form: ShareForm
) -> tuple[ShareLink, str] | None:
    """Make the link; if it is refused, say why on the form."""
    try:
        return share_link_create(
            principal=request.principal, shared=place.shared, values=form.values
        )
    except (InvalidInput, Conflict) as error:
        form.add_error(None, sentence(error.message))
    return None


def _made_page(
    request: TeamRequest, place: SharePlace, link: ShareLink, secret: str
) -> HttpResponse:
    path = reverse("playground:shared", args=[secret])
    context = {
        "section": place.section,
        "place": place,
        "link": link,
        "address": f"{shown_site_url(request)}{path}",
    }
    return page(request, "playground/share_made.html", context)


def _links(
    request: TeamRequest, place: SharePlace
) -> list[tuple[ShareLink, LinkState, str, bool]]:
    """Return the links with their states and notes, and whether one may revoke them."""
    found = list(share_link_list(request.team.id, place.shared.filters)[:SHOWN])
    notes, states = notes_of(found), link_states(request.team.id, found, timezone.now())
    is_manager = role_allows(request.membership.role, Permission.MANAGE_SHARING)
    return [
        (
            link,
            states[link.id],
            notes.get(link.id, ""),
            is_manager or link.made_by_id == request.user.id,
        )
        for link in found
    ]
