"""Invitations: making them, sending them again, taking them back, accepting them.

The link is also shown to the inviter, because mail may not arrive. It is shown once and
stored nowhere.
"""

from __future__ import annotations

import uuid
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.accounts.models import Invitation, Permission, Role, User
from apps.accounts.selectors import (
    access_invitation,
    invitation_find,
    mail_is_set_up,
    membership_of,
    team_list,
)
from apps.accounts.services import (
    invitation_accept,
    invitation_create,
    invitation_resend,
    invitation_revoke,
)
from apps.accounts.types import SESSION_INVITATION, SESSION_INVITATION_PROOF
from apps.console.forms.people import ROLE_WORDS, InvitationForm, role_noun
from apps.console.layout import (
    change_and_tell,
    console_page,
    posted,
    require,
    try_change,
)
from apps.console.views.members import roles_open_to
from apps.web.form_tokens import note_used, once_mark, was_used
from apps.web.request_context import context_of, shown_site_url
from apps.web.team_access import SESSION_TEAM, TeamRequest, chosen_team, team_view


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def invitation_create_page(request: TeamRequest) -> HttpResponseBase:
    """Invite a person by email."""
    require(request, Permission.MANAGE_MEMBERS)
    form = InvitationForm(posted(request), roles_open_to(request))
    has_mail = mail_is_set_up()
    if form.is_valid():
        made = try_change(
            form,
            lambda: invitation_create(
                team=request.team,
                email=form.cleaned_data["email"],
                role=form.cleaned_data["role"],
                actor=request.actor,
                invited_by=request.user,
                acting_role=request.membership.role,
            ),
        )
        if made:
            return _sent_page(request, *made)
    context = {
        "title": _("Invite a member"),
        "lead": _("We email them a link. It works for 7 days, for their address only.")
        if has_mail
        else _("You send them a link. It works for 7 days, for their address only."),
        "form": form,
        "label": _("Send invitation") if has_mail else _("Make invitation"),
        "back": reverse("console:member_list"),
    }
    return console_page(request, "console/form.html", context, tab="members")


@never_cache
@require_http_methods(["GET", "POST"])
@team_view
def invitation_resend_page(
    request: TeamRequest, invitation_id: uuid.UUID
) -> HttpResponseBase:
    """Send an invitation again, with a new link, after asking."""
    require(request, Permission.MANAGE_MEMBERS)
    invitation = access_invitation(request.team.id, invitation_id)
    about = {"email": invitation.email}
    if was_used(request, request.POST.get("once", "")):
        messages.info(request, _("That link was sent already."))
        return redirect("console:member_list")
    if request.method == "POST":
        note_used(request, request.POST.get("once", ""))
        return _sent_page(
            request,
            *invitation_resend(
                invitation=invitation,
                actor=request.actor,
                acting_role=request.membership.role,
            ),
        )
    context = {
        "title": _("Send a new link to %(email)s?") % about,
        "points": [
            _("An email with a new link is sent; the link works for 7 days.")
            if mail_is_set_up()
            else _("You get a new link to send; it works for 7 days."),
            _("The link sent before stops working."),
        ],
        "label": _("Send new link"),
        "is_harmless": True,
        "once": once_mark(),
        "back": reverse("console:member_list"),
    }
    return console_page(request, "console/confirm.html", context, tab="members")


@require_http_methods(["GET", "POST"])
@team_view
def invitation_revoke_page(
    request: TeamRequest, invitation_id: uuid.UUID
) -> HttpResponseBase:
    """Take an invitation back, after asking."""
    require(request, Permission.MANAGE_MEMBERS)
    invitation = access_invitation(request.team.id, invitation_id)
    about = {"email": invitation.email}
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: invitation_revoke(
                invitation=invitation,
                actor=request.actor,
                acting_role=request.membership.role,
            ),
            _("The invitation of %(email)s is revoked.") % about,
            "console:member_list",
        )
    context = {
        "title": _("Revoke the invitation of %(email)s?") % about,
        "points": [_("The link sent to them stops working at once.")],
        "label": _("Revoke"),
        "back": reverse("console:member_list"),
    }
    return console_page(request, "console/confirm.html", context, tab="members")


@never_cache
@require_http_methods(["GET", "POST"])
def invitation_page(request: HttpRequest, token: str) -> HttpResponseBase:
    """Show what an invitation offers; let the person invited accept it."""
    invitation = invitation_find(token)
    user = request.user
    if request.method == "POST" and isinstance(user, User):
        return _accept(request, token, user)
    return _invitation_answer(request, token, invitation)


def _accept(request: HttpRequest, token: str, user: User) -> HttpResponseBase:
    membership = invitation_accept(token=token, user=user, context=context_of(request))
    request.session[SESSION_TEAM] = str(membership.team_id)
    request.session.pop(SESSION_INVITATION, None)
    about = {"team": membership.team.name, "role": role_noun(membership.role)}
    messages.success(request, _("Welcome to %(team)s. Your role is %(role)s.") % about)
    return redirect("playground:index")


def _invitation_answer(
    request: HttpRequest, token: str, invitation: Invitation
) -> HttpResponse:
    user, here = request.user, reverse("console:invitation", args=[token])
    is_mine = isinstance(user, User) and user.email == invitation.email
    is_member = membership_of(user, invitation.team_id) is not None
    request.session[SESSION_INVITATION] = token
    request.session[SESSION_INVITATION_PROOF] = request.GET.get("proof", "")
    teams = list(team_list(user))
    context = {
        "invitation": invitation,
        "role_words": ROLE_WORDS[Role(invitation.role)],
        "can_sign_up": settings.SIGN_UP != "closed",
        "is_mine": is_mine,
        "is_member": is_member,
        "teams": teams,
        "team": chosen_team(request, teams),
        "here": here,
        "sign_in": _with_query("account_login", next=here),
        "sign_up": _with_query("account_signup", next=here),
    }
    return render(request, "console/invitation.html", context)


def _with_query(name: str, **query: str) -> str:
    return f"{reverse(name)}?{urlencode(query)}"


def _sent_page(
    request: TeamRequest, invitation: Invitation, token: str
) -> HttpResponse:
    path = reverse("console:invitation", args=[token])
    context = {
        "invitation": invitation,
        "link": f"{shown_site_url(request)}{path}",
        "has_mail": mail_is_set_up(),
    }
    return console_page(request, "console/invitation_sent.html", context, tab="members")
