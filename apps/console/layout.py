"""The layout of a team's pages, and messages about the outcome of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect

from apps.accounts.models import Permission
from apps.accounts.selectors import require_permission, role_allows
from apps.console.forms.base import ConsoleForm
from apps.core.errors import Conflict, InvalidInput, VersionConflict
from apps.web.setup_checklist import setup_checklist
from apps.web.team_access import TeamRequest, page, refusal_show

SETUP_TABS = {"home", "pools", "workers", "conductors", "credentials"}
"""Pages that show what the team's set-up still lacks."""
T = TypeVar("T")


def console_page(
    request: TeamRequest,
    template: str,
    context: dict[str, Any],
    *,
    tab: str,
    status: int = 200,
) -> HttpResponse:
    """Render a page of the console; `tab` is the entry of the navigation it is under.

    Templates get `may`: what the member may do, by the values of `Permission`.
    """
    role = request.membership.role
    checklist = setup_checklist(request) if tab in SETUP_TABS else []
    frame = {
        "checklist": checklist,
        "tab": tab,
        "membership": request.membership,
        "may": {each.value: role_allows(role, each) for each in Permission},
    }
    return page(request, template, {**frame, **context}, status)


def require(request: TeamRequest, permission: Permission) -> None:
    """Raise NotAllowed unless the member's role has `permission`."""
    require_permission(request.membership.role, permission)


def posted(request: HttpRequest) -> QueryDict | None:
    """Return what a form was sent with; None if the page was only asked for."""
    return request.POST if request.method == "POST" else None


def try_change(form: ConsoleForm, change: Callable[[], T]) -> T | None:
    """Make a change; if its input is refused, put the reasons on the form."""
    try:
        return change()
    except InvalidInput as error:
        form.take(error)
    except (Conflict, VersionConflict) as error:
        form.take(InvalidInput(error.message))
    return None


def change_and_tell(
    request: TeamRequest, change: Callable[[], object], done: str, back: str
) -> HttpResponse:
    """Make a change that has no form of its own; say on the next page what came of it.

    `back` is the name or the address of the page to go to.
    """
    try:
        change()
    except (InvalidInput, Conflict, VersionConflict) as error:
        refusal_show(request, error)
    else:
        messages.success(request, done)
    return redirect(back)
