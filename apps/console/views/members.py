"""Members of a team: the list, roles, removal, leaving."""

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
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from apps.accounts.models import Membership, Permission, Role
from apps.accounts.selectors import (
    access_member,
    invitation_list,
    member_list,
    role_allows,
)
from apps.accounts.services import member_change_role, member_leave, member_remove
from apps.console.forms.people import RoleForm, role_noun
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.core.errors import NotAllowed
from apps.web.team_access import TeamRequest, team_view

MEMBERS_PER_PAGE = 25


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member, and what the one who looks may do about them."""

    membership: Membership
    is_me: bool
    can_change: bool


@require_GET
@team_view
def member_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the members and the invitations that are still open."""
    found = Paginator(member_list(request.team.id), MEMBERS_PER_PAGE)
    members = found.get_page(request.GET.get("page"))
    context = {
        "members": members,
        "rows": [_row(request, member) for member in members],
        "invitations": invitation_list(request.team.id),
        "now": timezone.now(),
    }
    return console_page(request, "console/members.html", context, tab="members")


@require_http_methods(["GET", "POST"])
@team_view
def member_edit(request: TeamRequest, user_id: uuid.UUID) -> HttpResponseBase:
    """Change a member's role."""
    require(request, Permission.MANAGE_MEMBERS)
    member = access_member(request.team.id, user_id)
    _require_power_over(request, member)
    form = RoleForm(posted(request), roles_open_to(request), {"role": member.role})
    if form.is_valid():
        role = Role(form.cleaned_data["role"])
        changed = try_change(
            form,
            lambda: member_change_role(
                team=request.team,
                user=member.user,
                role=role,
                actor=request.actor,
                acting_role=request.membership.role,
            ),
        )
        if changed:
            about = {"name": member.user.get_full_name(), "role": role_noun(role)}
            messages.success(request, _("%(name)s is now %(role)s.") % about)
            return redirect("console:member_list")
    context = {
        "title": _("Role of %(name)s") % {"name": member.user.get_full_name()},
        "form": form,
        "label": _("Save role"),
        "back": reverse("console:member_list"),
    }
    return console_page(request, "console/form.html", context, tab="members")


@require_http_methods(["GET", "POST"])
@team_view
def member_remove_page(request: TeamRequest, user_id: uuid.UUID) -> HttpResponseBase:
    """Remove a member, after asking."""
    require(request, Permission.MANAGE_MEMBERS)
    member = access_member(request.team.id, user_id)
    _require_power_over(request, member)
    about = {"name": member.user.get_full_name(), "team": request.team.name}
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: member_remove(
                team=request.team,
                user=member.user,
                actor=request.actor,
                acting_role=request.membership.role,
            ),
            _("%(name)s is no longer a member.") % about,
            "console:member_list",
        )
    context = {
        "title": _("Remove %(name)s?") % about,
        "points": [
            _("%(name)s loses access to everything of %(team)s at once.") % about,
            _("Every API key they made for this team stops working."),
            _("Their runs stay, with the record of who started them."),
        ],
        "label": _("Remove"),
        "back": reverse("console:member_list"),
    }
    return console_page(request, "console/confirm.html", context, tab="members")


@require_http_methods(["GET", "POST"])
@team_view
def team_leave(request: TeamRequest) -> HttpResponseBase:
    """Leave the team, after asking."""
    about = {"team": request.team.name}
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: member_leave(
                team=request.team, user=request.user, actor=request.actor
            ),
            _("You have left %(team)s.") % about,
            "console:member_list",
        )
    context = {
        "title": _("Leave the team “%(team)s”?") % about,
        "points": [
            _("You lose access to its runs, pools and keys at once."),
            _("Every API key you made for this team stops working."),
            _("To come back, you need a new invitation."),
        ],
        "label": _("Leave"),
        "back": reverse("console:member_list"),
    }
    return console_page(request, "console/confirm.html", context, tab="members")


def roles_open_to(request: TeamRequest) -> Sequence[str]:
    """Return the roles the member may give: owners alone make owners."""
    is_owner = request.membership.role == Role.OWNER
    return [role for role in Role.values if is_owner or role != Role.OWNER]


def _row(request: TeamRequest, member: Membership) -> MemberRow:
    return MemberRow(
        membership=member,
        is_me=member.user_id == request.user.id,
        can_change=_has_power_over(request, member),
    )


def _has_power_over(request: TeamRequest, member: Membership) -> bool:
    mine = request.membership.role
    may_manage = role_allows(mine, Permission.MANAGE_MEMBERS)
    return may_manage and (mine == Role.OWNER or member.role != Role.OWNER)


def _require_power_over(request: TeamRequest, member: Membership) -> None:
    if not _has_power_over(request, member):
        raise NotAllowed("only an owner can change or remove an owner")
