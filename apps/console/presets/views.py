"""Presets: listed, created, shown, changed, shared, archived, copied, deleted."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
)

from apps.accounts.rights import READ_PRESETS, RUN
from apps.console.layout import change_and_tell, console_page, posted, try_change
from apps.console.presets.differences import version_difference
from apps.console.presets.forms import PresetForm, initial_of, initial_sent
from apps.console.presets.rows import (
    call_sample,
    preset_row,
    version_rows,
    version_text,
)
from apps.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from apps.presets.composing import preset_compose, preset_open
from apps.presets.models import Preset
from apps.presets.selectors import (
    access_preset,
    access_preset_version,
    content_of,
    description_of,
    may_change_preset,
    preset_list,
    preset_version_list,
    presets_matching,
    sees_unshared,
)
from apps.presets.services import (
    preset_copy,
    preset_create,
    preset_delete,
    preset_restore,
    preset_update,
)
from apps.presets.templates import TemplateError, template_escape, template_read
from apps.web.preset_fields import preset_call_in
from apps.web.team_access import TeamRequest, team_view

TAB = "presets"
PER_PAGE = 50
VERSIONS_PER_PAGE = 20
SHOWS = {
    "": gettext_noop("All"),
    "own": gettext_noop("Mine"),
    "shared": gettext_noop("Shared"),
    "archived": gettext_noop("Archived"),
}
"""Parts of the list, as the address names them, and their titles."""


@require_GET
@team_view
def preset_list_page(request: TeamRequest) -> HttpResponseBase:
    """List the presets that the member sees, or a part of them."""
    principal = request.principal
    principal.require(READ_PRESETS)
    show, query = request.GET.get("show", ""), request.GET.get("query", "")[:200]
    rows = preset_list(principal, is_archived=show == "archived")
    if show == "own":
        actor = request.actor
        rows = rows.filter(owner_type=actor.type, owner_id=actor.id)
    elif show == "shared":
        rows = rows.filter(is_shared=True)
    found = Paginator(presets_matching(list(rows), query), PER_PAGE)
    page = found.get_page(request.GET.get("page"))
    kept = {"show": show, "query": query}
    context = {
        "found": page,
        "rows": [preset_row(principal, each) for each in page],
        "shows": [(value, _(label)) for value, label in SHOWS.items()],
        "show": show if show in SHOWS else "",
        "query": query,
        "has_any": bool(query or show) or bool(found.count),
        "kept": urlencode({name: value for name, value in kept.items() if value}),
    }
    return console_page(request, "console/presets.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def preset_new(request: TeamRequest) -> HttpResponseBase:
    """Create a preset."""
    request.principal.require(RUN)
    form = PresetForm(posted(request), team_id=request.team.id)
    if form.is_bound and form.is_valid():
        made = try_change(
            form,
            lambda: preset_create(principal=request.principal, values=form.values()),
        )
        if made is not None:
            messages.success(
                request, _("The preset %(name)s is saved.") % {"name": made.name}
            )
            return redirect("console:preset", made.id)
    return _form_page(request, form)


@require_POST
@team_view
def preset_from_prompt(request: TeamRequest) -> HttpResponseBase:
    """Offer what the composer holds as a new preset; nothing is saved yet."""
    request.principal.require(RUN)
    initial = initial_sent(request.team.id, request.POST)
    initial["prompt"] = _template_sent(request, initial["prompt"])
    form = PresetForm(initial=initial, team_id=request.team.id)
    return _form_page(request, form)


@require_GET
@team_view
def preset_page(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Show what a preset says, and its versions."""
    preset = _preset(request, preset_id)
    pages = Paginator(preset_version_list(preset), VERSIONS_PER_PAGE)
    found = pages.get_page(request.GET.get("page"))
    text = version_text(access_preset_version(preset))
    context = {
        "row": preset_row(request.principal, preset),
        "text": text,
        "sample": call_sample(text),
        "found": found,
        "versions": list(version_rows(preset, list(found))),
    }
    return console_page(request, "console/preset.html", context, tab=TAB)


@require_GET
@team_view
def preset_version_page(
    request: TeamRequest, preset_id: uuid.UUID, number: int
) -> HttpResponseBase:
    """Show what a version says, and what it changed."""
    preset = _preset(request, preset_id)
    version = access_preset_version(preset, number)
    before = preset_version_list(preset).filter(number=number - 1).first()
    context = {
        "row": preset_row(request.principal, preset),
        "text": version_text(version),
        "difference": before
        and version_difference(*map(content_of, (before, version))),
        "is_newest": version.number == preset.newest,
    }
    return console_page(request, "console/preset_version.html", context, tab=TAB)


@require_http_methods(["GET", "POST"])
@team_view
def preset_edit(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Change a preset; other texts or settings make a new version."""
    preset = _own(request, preset_id)
    initial = {
        "name": preset.name,
        "description": description_of(preset),
        **initial_of(content_of(access_preset_version(preset))),
        "version": preset.newest,
    }
    form = PresetForm(
        posted(request), initial=initial, team_id=request.team.id, is_new=False
    )
    if form.is_bound and form.is_valid():
        saved = try_change(
            form,
            lambda: preset_update(
                principal=request.principal, preset=preset, values=form.values()
            ),
        )
        if saved is not None:
            is_new = saved.newest > preset.newest
            what = (
                _("Version %(number)s of %(name)s is saved.")
                if is_new
                else _("%(name)s is saved.")
            )
            about = {"number": saved.newest, "name": saved.name}
            messages.success(request, what % about)
            return redirect("console:preset", preset.id)
        preset.refresh_from_db(fields=["newest"])
        if form.cleaned_data["version"] not in (None, preset.newest):
            form.save_after(preset.newest)
            return _form_page(request, form, preset, is_late=True)
    return _form_page(request, form, preset)


@require_POST
@team_view
def preset_share(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Share a preset with the team, or stop sharing it."""
    is_shared = request.POST.get("share") == "yes"
    done = (
        _("%(name)s is shared with the team.")
        if is_shared
        else _("%(name)s is no longer shared.")
    )
    return _changed(request, preset_id, {"is_shared": is_shared}, done)


@require_POST
@team_view
def preset_archive(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Archive a preset, or take it out of the archive."""
    is_archived = request.POST.get("archive") == "yes"
    done = (
        _("%(name)s is archived; no run can use it.")
        if is_archived
        else _("%(name)s can be used again.")
    )
    return _changed(request, preset_id, {"is_archived": is_archived}, done)


@require_POST
@team_view
def preset_copy_view(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Make a preset of the member's own from another one."""
    request.principal.require(RUN)
    preset = _preset(request, preset_id)
    copied = preset_copy(principal=request.principal, preset=preset)
    messages.success(
        request,
        _("%(name)s is yours now. Change what you like.") % {"name": copied.name},
    )
    return redirect("console:preset_edit", copied.id)


@require_POST
@team_view
def preset_restore_view(
    request: TeamRequest, preset_id: uuid.UUID, number: int
) -> HttpResponseBase:
    """Make an older version the newest one again."""
    preset = _own(request, preset_id)
    return change_and_tell(
        request,
        lambda: preset_restore(
            principal=request.principal, preset=preset, number=number
        ),
        _("Version %(old)s is restored, as version %(new)s.")
        % {"old": number, "new": preset.newest + 1},
        reverse("console:preset", args=[preset.id]),
    )


@require_http_methods(["GET", "POST"])
@team_view
def preset_remove(request: TeamRequest, preset_id: uuid.UUID) -> HttpResponseBase:
    """Ask first, then delete a preset."""
    preset = _own(request, preset_id)
    if request.method == "POST":
        return change_and_tell(
            request,
            lambda: preset_delete(principal=request.principal, preset=preset),
            _("The preset %(name)s is deleted.") % {"name": preset.name},
            "console:preset_list",
        )
    context = {
        "title": _("Delete the preset “%(name)s”?") % {"name": preset.name},
        "points": [
            _(
                "Its texts and all versions are erased for good. Archive it instead to "
                "keep them."
            ),
            _("Programs that name it get an error."),
            _("Runs that used it stay, with their own prompts."),
        ],
        "label": _("Delete preset"),
        "back": reverse("console:preset", args=[preset.id]),
    }
    return console_page(request, "console/confirm.html", context, tab=TAB)


def _template_sent(request: TeamRequest, prompt: str) -> str:
    """Return the template that the composer holds.

    It is that of the preset whose variables are filled in, or what was written; if that
    is none, a template of just this text.
    """
    call = preset_call_in(request.POST)
    with suppress(NotFound, Conflict, InvalidInput):
        if (
            call
            and not preset_compose(request.principal, call, text=prompt).use.is_edited
        ):
            opened = preset_open(request.principal, call.preset_id, call.version)
            return opened.content.prompt
    try:
        template_read(prompt)
    except TemplateError:
        return template_escape(prompt)
    return prompt


def _preset(request: TeamRequest, preset_id: uuid.UUID) -> Preset:
    request.principal.require(READ_PRESETS)
    return access_preset(request.principal, preset_id)


def _own(request: TeamRequest, preset_id: uuid.UUID) -> Preset:
    """Return a preset that the member may change. Raises: NotAllowed, NotFound."""
    request.principal.require(RUN)
    preset = access_preset(request.principal, preset_id)
    if not may_change_preset(request.principal, preset):
        raise NotAllowed("only its owner and admins of the team may change this preset")
    return preset


def _changed(
    request: TeamRequest, preset_id: uuid.UUID, values: Mapping[str, Any], done: str
) -> HttpResponseBase:
    preset = _own(request, preset_id)
    principal, back = request.principal, reverse("console:preset", args=[preset.id])
    if values.get("is_shared") is False and not sees_unshared(principal, preset):
        done = _(
            "%(name)s is no longer shared. Only its owner, %(owner)s, sees it now."
        )
        back = reverse("console:preset_list")
    return change_and_tell(
        request,
        lambda: preset_update(principal=principal, preset=preset, values=values),
        done % {"name": preset.name, "owner": preset.owner_name},
        back,
    )


def _form_page(
    request: TeamRequest,
    form: PresetForm,
    preset: Preset | None = None,
    *,
    is_late: bool = False,
) -> HttpResponseBase:
    if preset is None:
        action, back = reverse("console:preset_new"), reverse("console:preset_list")
    else:
        action = reverse("console:preset_edit", args=[preset.id])
        back = reverse("console:preset", args=[preset.id])
    context = {
        "form": form,
        "preset": preset,
        "is_late": is_late,
        "action": action,
        "back": back,
    }
    status = 422 if form.is_bound else 200
    return console_page(
        request, "console/preset_form.html", context, tab=TAB, status=status
    )
