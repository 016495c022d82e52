"""Files and images of a prompt: uploaded, removed, and downloaded with their run."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.rights import RUN
from apps.attachments.selectors import (
    attachment_access,
    attachment_content,
    attachment_facts,
    attachment_of_run,
)
from apps.attachments.services import attachment_delete, attachment_store
from apps.core.errors import InvalidInput
from apps.playground.composing.file_words import cut_words, extent_words
from apps.runs.selectors import access_run
from apps.web.team_access import TeamRequest, team_view

DOWNLOAD_TYPE = "application/octet-stream"
"""Whatever the file is: a browser shall store it, never show it."""


@require_POST
@team_view
def attachment_create(request: TeamRequest) -> HttpResponseBase:
    """Read and store an uploaded file; what it is goes to the page's script."""
    request.principal.require(RUN)
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise InvalidInput("expected a file", param="file")
    stored = attachment_store(
        team_id=request.team.id,
        owner=request.actor,
        name=file.name or "",
        content=file.read(settings.MAX_ATTACHMENT_BYTES + 1),
    )
    facts = dict(attachment_facts(stored))
    words = {"extent": extent_words, "cut": cut_words}
    shown = {name: say(facts[name]) for name, say in words.items() if name in facts}
    return JsonResponse(facts | shown, status=201)


@require_POST
@team_view
def attachment_remove(
    request: TeamRequest, attachment_id: uuid.UUID
) -> HttpResponseBase:
    """Delete a file that no run has."""
    request.principal.require(RUN)
    attachment_delete(
        attachment_access(
            team_id=request.team.id,
            owner=request.actor,
            attachment_id=attachment_id,
        )
    )
    return HttpResponse(status=204)


@require_GET
@team_view
def run_attachment(
    request: TeamRequest, run_id: uuid.UUID, attachment_id: uuid.UUID
) -> HttpResponseBase:
    """Return the original of a run's file, to be stored."""
    run = access_run(team_id=request.team.id, run_id=run_id)
    found = attachment_of_run(
        team_id=run.team_id, run_id=run.id, attachment_id=attachment_id
    )
    response = HttpResponse(attachment_content(found), content_type=DOWNLOAD_TYPE)
    disposition = content_disposition_header(True, found.name)
    response["Content-Disposition"] = disposition or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response
