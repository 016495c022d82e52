"""The language of pages: chosen by the person, else by cookie, else by the browser.

Answers for programs and the operator's pages are in English, whoever asks for them. The
language holds for one request: nothing that runs later or elsewhere is translated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.db import Error
from django.forms.utils import ErrorList
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

from apps.accounts.models import User
from apps.core.database_outage import is_outage
from apps.web.script_words import ENGLISH

MOST_ADDRESS = 2_000
"""Characters of an address that is gone back to."""
COOKIE_S = 365 * 24 * 60 * 60
ENGLISH_PATHS = ("/api/", "/admin/")
FOR_VISITORS = "/shared/"
"""Pages that look at no session, so at no choice kept with a person."""


class EnglishErrors(ErrorList):
    """Errors of a form that is in English, whatever the language of its reader."""

    def __getitem__(self, index: Any) -> Any:
        with translation.override(ENGLISH):
            return super().__getitem__(index)


class EnglishForm(forms.Form):
    """A form of a page that is not translated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("error_class", EnglishErrors)
        super().__init__(*args, **kwargs)


class LanguageForm(forms.Form):
    """Takes the language that a person chose; empty: as their browser says."""

    language = forms.ChoiceField(choices=lambda: settings.LANGUAGES, required=False)


class LanguageMiddleware:
    """Translates pages into the language of their reader."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if _is_english(request.path):
            with translation.override(ENGLISH):
                return self.get_response(request)
        language = language_of(request)
        with translation.override(language):
            response = self.get_response(request)
        patch_vary_headers(response, ("Accept-Language",))
        response.headers.setdefault("Content-Language", language)
        return response


def language_of(request: HttpRequest) -> str:
    """Return the code of the language that the reader of a page wants."""
    is_visitor = request.path.startswith(FOR_VISITORS)
    chosen = "" if is_visitor else _chosen_by(request)
    if chosen in dict(settings.LANGUAGES):
        return chosen
    return translation.get_language_from_request(request)


def keep_language(request: HttpRequest, response: HttpResponseBase, code: str) -> None:
    """Keep a choice with the person, and in a cookie for when they are signed out.

    `code`: one of LANGUAGES; empty: as their browser says.
    """
    if isinstance(request.user, User):
        request.user.language = code
        request.user.save(update_fields=["language"])
    name = settings.LANGUAGE_COOKIE_NAME
    if not code:
        response.delete_cookie(name, samesite="Lax")
        return
    response.set_cookie(
        name,
        code,
        max_age=COOKIE_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def way_back(request: HttpRequest, wanted: str) -> str:
    """Return the page to go on with: `wanted` if it is a path on this site.

    A path that is too long or odd is ignored, so that the choice is kept anyway.
    """
    is_path = wanted.startswith("/") and wanted.isprintable()
    is_here = url_has_allowed_host_and_scheme(
        wanted, {request.get_host()}, require_https=request.is_secure()
    )
    if len(wanted) <= MOST_ADDRESS and is_path and is_here:
        return wanted
    return reverse("account" if request.user.is_authenticated else "account_login")


def _is_english(path: str) -> bool:
    return path.startswith(ENGLISH_PATHS) and path != reverse("rest:docs")


def _chosen_by(request: HttpRequest) -> str:
    """Return the choice kept with the person; empty: none, or nobody can say now."""
    try:
        user = request.user
        return user.language if isinstance(user, User) else ""
    except Error as exc:
        if not is_outage(exc):
            raise
        return ""
