"""Pages of share links: all of a team, what it allows, and their end."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Paginator
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.models import Permission
from apps.accounts.rights import SHARE_RUNS
from apps.accounts.selectors import member_list, role_allows
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.console.sharing.forms import LinkFilterForm, SharingForm
from apps.core.errors import InvalidInput
from apps.sharing.models import ShareLink
from apps.sharing.selectors import (
    access_share_link,
    link_states,
    notes_of,
    share_link_list,
    sharing_status,
)
from apps.sharing.services import (
    share_link_revoke,
    share_links_revoke,
    sharing_set,
)
from apps.sharing.types import LinkState
from apps.web.team_access import TeamRequest, team_view

TAB = "share_links"
LINKS_PER_PAGE = 50
BACK = "console:share_links"


@dataclass(frozen=True, slots=True)
class ShareLinkRow:
    """A link with what the list says of it."""

    link: ShareLink
    state: LinkState
    note: str

    @property
    def can_end(self) -> bool:
        """Say whether it can be revoked."""
        return self.state in (LinkState.OPEN, LinkState.STOPPED)


@require_GET
@team_view
def share_links_page(request: TeamRequest) -> HttpResponseBase:
    """List the share links of the team."""
    require(request, Permission.MANAGE_SHARING)
    people = [each.user for each in member_list(request.team.id)]
    form = LinkFilterForm(request.GET, people)
    found = Paginator(
        share_link_list(request.team.id, form.filters), LINKS_PER_PAGE
    ).get_page(request.GET.get("page"))
    query = request.GET.copy()
    query.pop("page", None)
    context = {
        "rows": _rows(request.team.id, list(found.object_list)),
        "found": found,
        "form": form,
        "query": query.urlencode(),
        "is_filtered": any(form.data.get(name) for name in form.fields),
        "status": sharing_status(request.team.id),
    }
    return console_page(request, "console/share_links.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def sharing_edit(request: TeamRequest) -> HttpResponseBase:
    """Allow share links, or turn them off."""
    require(request, Permission.MANAGE_SHARING)
    form = SharingForm(posted(request), sharing_status(request.team.id))
    if form.is_valid():
        changed = try_change(
            form,
            lambda: sharing_set(
                team=request.team, values=form.cleaned_data, actor=request.actor
            ),
        )
        if changed:
            on, off = (
                gettext("Share links are allowed."),
                gettext("Share links are off."),
            )
            messages.success(request, on if changed.is_on else off)
            return redirect(BACK)
    context = {
        "title": gettext("Share links"),
        "lead": gettext(
            "A share link shows one run, or a conversation up to its last turn, to "
            "anyone who has it, without an account: prompts and answers, plan and "
            "steps if chosen, never costs, requests or addresses of models. Members "
            "make links, which end after a time. When you turn them off, all links "
            "end for good."
        ),
        "form": form,
        "label": gettext("Save"),
        "back": reverse(BACK),
    }
    return console_page(request, "console/form.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def share_link_revoke_page(
    request: TeamRequest, link_id: uuid.UUID
) -> HttpResponseBase:
    """Revoke one link, after asking; who made it may, and owners and admins."""
    link = access_share_link(request.team.id, link_id)
    if link.made_by_id != request.user.id:
        request.principal.require(SHARE_RUNS)
    back = _place_of(request, link)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: share_link_revoke(link=link, principal=request.principal),
            gettext("The link is revoked."),
            back,
        )
    note = notes_of([link]).get(link.id)
    title = (
        gettext("Revoke the link “{note}”?") if note else gettext("Revoke this link?")
    )
    context = {
        "title": title.format(note=note),
        "points": [
            gettext("It was made by {name}.").format(name=link.made_by_name),
            ngettext(
                "Whoever opens it reads that it does not work any more, from now on.",
                "Whoever opens them reads that it does not work any more, from now on.",
                1,
            ),
            gettext("It cannot be brought back; a new link has another address."),
        ],
        "label": gettext("Revoke"),
        "back": back,
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


@require_POST
@team_view
def share_links_end(request: TeamRequest) -> HttpResponseBase:
    """Revoke the chosen links, after asking."""
    require(request, Permission.MANAGE_SHARING)
    ids = _ids_in(request.POST.getlist("link"))
    if not ids:
        messages.info(request, gettext("Choose one or more links first."))
        return redirect(BACK)
    if "confirmed" in request.POST:
        count = share_links_revoke(principal=request.principal, link_ids=ids)
        done = ngettext("{number} link revoked.", "{number} links revoked.", count)
        messages.success(request, done.format(number=count))
        return redirect(BACK)
    context = {"ids": ids, "back": reverse(BACK)}
    return console_page(request, "console/share_links_end.html", context, tab=TAB)


def _rows(team_id: uuid.UUID, links: Sequence[ShareLink]) -> list[ShareLinkRow]:
    notes, states = notes_of(links), link_states(team_id, links, timezone.now())
    return [
        ShareLinkRow(link, states[link.id], notes.get(link.id, "")) for link in links
    ]


def _place_of(request: TeamRequest, link: ShareLink) -> str:
    """Return the address of a page that lists a link, and that the person may see."""
    may_share = role_allows(request.membership.role, Permission.SHARE_RUNS)
    if link.is_deleted or not may_share:
        return reverse("playground:run_list")
    if link.turn is None:
        return reverse("playground:run_share", args=[link.run_id])
    if link.made_by_id != request.user.id:
        return reverse(BACK)
    return reverse("playground:conversation_share", args=[link.turn.conversation_id])


def _ids_in(texts: Sequence[str]) -> list[uuid.UUID]:
    try:
        return [uuid.UUID(text) for text in texts[:LINKS_PER_PAGE]]
    except ValueError as exc:
        raise InvalidInput("expected ids of share links", param="link") from exc
