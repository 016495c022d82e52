"""Two ways in: an API key in the Authorization header, or the session of a person.

A request with an Authorization header is the key's alone; a session that comes with it
is not looked at. Sessions need a CSRF token for everything but reading.
"""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from rest_framework import authentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from apps.accounts.errors import UnknownKey
from apps.accounts.models import Team, User
from apps.accounts.principal import (
    Principal,
    key_principal,
    member_principal,
    user_actor,
)
from apps.accounts.selectors import access_team, membership_of, team_list
from apps.accounts.services import api_key_resolve, unknown_key_note
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.core.errors import NotAllowed, NotAuthenticated, NotFound
from apps.rest.errors import CsrfFailed, NotSignedIn
from apps.web.request_context import context_of
from apps.web.team_access import SESSION_TEAM

BEARER = "bearer "
MAX_KEY_LENGTH = 200
"""Longer than any key; nothing longer is looked up."""
TEAM_HEADER = "X-Team"
SANE_TEAM = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""A slug or an id; anything else is no team's, whatever the database makes of it."""


class KeyAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer cdk_…`."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, KeyHolder] | None:
        """Return the key's holder; None if there is no such header.

        Raises: NotAuthenticated if the header or the key is no good; TooManyGuesses.
        """
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            return None
        raw = header[len(BEARER) :].strip()
        is_bearer = header[: len(BEARER)].lower() == BEARER
        if not is_bearer or not 0 < len(raw) <= MAX_KEY_LENGTH:
            raise NotAuthenticated("the Authorization header holds no bearer key")
        try:
            return AnonymousUser(), api_key_resolve(raw, now=timezone.now())
        except UnknownKey:
            unknown_key_note(request.META.get("REMOTE_ADDR") or "")
            raise

    def authenticate_header(self, request: Request) -> str:
        """Return what a 401 tells clients to send."""
        return 'Bearer realm="conductor"'


class SessionAuthentication(authentication.SessionAuthentication):
    """The session of the pages, for scripts that run in them."""

    def enforce_csrf(self, request: HttpRequest | Request) -> None:
        """Raise CsrfFailed unless the request proves to come from our own pages."""
        # Of Django's own request: the framework's would use up the body to look for
        # the token in a form.
        own = request._request if isinstance(request, Request) else request
        try:
            super().enforce_csrf(own)  # type: ignore[arg-type]
        except PermissionDenied as exc:
            raise CsrfFailed(
                "the request lacks a valid CSRF token; send the cookie's in the header "
                "'X-CSRFToken'"
            ) from exc


def principal_of(request: Request) -> Principal:
    """Return the principal of an authenticated request.

    Raises: NotSignedIn without a session or key, NotFound for a team of other people,
    NotAllowed for a person without any team.
    """
    holder = request.auth
    if isinstance(holder, KeyHolder):
        return _key_principal(request, holder)
    user = _signed_in(request)
    team = _chosen_team(request, user)
    membership = membership_of(user, team.id)
    if membership is None:
        raise NotFound("there is no such team you belong to")
    return member_principal(user, team, membership.role, context_of(request._request))


def operator_of(request: Request) -> Actor:
    """Return the operator of an authenticated request, as the ledger names them.

    Operators are the people who may open the operator's pages: superusers that are
    staff. They need no team. Raises: NotSignedIn without a session or key, NotAllowed
    for everybody else and for every key, which is of one team.
    """
    if isinstance(request.auth, KeyHolder):
        raise NotAllowed("an API key is of one team; only the operator may do this")
    user = _signed_in(request)
    if not (user.is_staff and user.is_superuser):
        raise NotAllowed("only the operator of this site may do this")
    return user_actor(user, context_of(request._request))


def _signed_in(request: Request) -> User:
    user: Any = request.user
    if not isinstance(user, User) or not user.is_active:
        raise NotSignedIn("send an API key as 'Authorization: Bearer cdk_…' or sign in")
    return user


def _key_principal(request: Request, holder: KeyHolder) -> Principal:
    named = request.headers.get(TEAM_HEADER)
    if named and named not in (str(holder.team_id), holder.team_slug):
        raise NotFound(f"this API key is not of the team {named[:64]!r}")
    return key_principal(holder, context_of(request._request))


def _chosen_team(request: Request, user: User) -> Team:
    named = request.headers.get(TEAM_HEADER)
    if named:
        if SANE_TEAM.fullmatch(named) is None:
            raise NotFound("there is no such team you belong to")
        return access_team(user=user, team_slug_or_id=named)
    teams = list(team_list(user))
    if not teams:
        raise NotAllowed("you are in no team; ask for an invitation to one")
    chosen = request.session.get(SESSION_TEAM)
    return next((team for team in teams if str(team.id) == chosen), teams[0])
