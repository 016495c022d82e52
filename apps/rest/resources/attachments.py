"""Attachments: files and images that are uploaded, then sent with a prompt by id."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_RUNS, RUN
from apps.attachments.models import NAME_LENGTH, Attachment, AttachmentKind
from apps.attachments.selectors import (
    attachment_access,
    attachment_content,
    attachment_of_run,
    attachment_text,
)
from apps.attachments.services import attachment_delete, attachment_store
from apps.core.errors import InvalidInput
from apps.rest.fields import Input, Output, TextField, Time
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.selectors import access_run

TAG = "Attachments"
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000c",
    "name": "figures.csv",
    "kind": "text",
    "extent": "12 lines",
    "cut": "",
    "size": 340,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "created_at": "2026-11-21T15:53:16.000000Z",
}
SENT = {"name": "figures.csv", "content": "eWVhcixzdW0KMjAyNCwxMgo="}


class AttachmentInput(Input):
    """A file."""

    name = TextField(max_length=NAME_LENGTH, help_text="Shown to models and people.")
    content = TextField(
        help_text="The file, as base64. Its type is found in it: text, code, CSV, PDF, "
        "Word, Excel, PowerPoint, or a PNG, JPEG, WebP or GIF image."
    )


class AttachmentOutput(Output):
    """What is known of a file."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=AttachmentKind.choices)
    extent = serializers.CharField(help_text="How long it is, such as `12 pages`.")
    cut = serializers.CharField(
        help_text="What is missing of its text. Empty: nothing."
    )
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(source="digest")
    created_at = Time()


class AttachmentDetailOutput(Output):
    """A file with its text, as models get it."""

    attachment = AttachmentOutput()
    text = serializers.CharField(help_text="Empty: it is an image.")


class AttachmentContentOutput(Output):
    """A file of a run."""

    attachment = AttachmentOutput()
    content = serializers.CharField(help_text="The original, as base64.")


class Attachments(RestView):
    """Files of the member or API key."""

    tag = TAG
    rights = {"POST": RUN}

    @operation(
        "attachment_create",
        "Upload a file",
        body=AttachmentInput,
        answer=AttachmentOutput,
        status=201,
        errors=(413,),
        sent=SENT,
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Upload a file, to be sent with a prompt by its id.

        Deleted after a day if no run has it; else kept as long as the texts of its run.
        """
        values = self.read(AttachmentInput)
        try:
            content = binascii.a2b_base64(values["content"], strict_mode=True)
        except ValueError as exc:
            raise InvalidInput("content: expected base64", param="content") from exc
        stored = attachment_store(
            team_id=self.principal.team_id,
            owner=self.principal.actor,
            name=values["name"],
            content=content,
        )
        location = reverse("rest:attachment", args=[stored.id])
        return self.created(AttachmentOutput(stored).data, location)


class OneAttachment(RestView):
    """One file."""

    tag = TAG
    rights = {"GET": READ_RUNS, "DELETE": RUN}

    @operation(
        "attachment_get",
        "Read an uploaded file",
        answer=AttachmentDetailOutput,
        example={"attachment": EXAMPLE, "text": "year,sum\n2024,12\n"},
    )
    def get(self, request: Request, attachment_id: uuid.UUID) -> Response:
        """Return what was found in a file that you have uploaded."""
        found = _own(self, attachment_id)
        shown = {"attachment": found, "text": attachment_text(found)}
        return Response(AttachmentDetailOutput(shown).data)

    @operation(
        "attachment_delete", "Delete an uploaded file", status=204, errors=(409,)
    )
    def delete(self, request: Request, attachment_id: uuid.UUID) -> Response:
        """Delete a file that no run has."""
        attachment_delete(_own(self, attachment_id))
        return Response(status=204)


class RunAttachment(RestView):
    """One file of a run."""

    tag = TAG
    rights = {"GET": READ_RUNS}

    @operation(
        "run_attachment_get",
        "Read a file of a run",
        answer=AttachmentContentOutput,
        example={"attachment": EXAMPLE, "content": SENT["content"]},
    )
    def get(
        self, request: Request, run_id: uuid.UUID, attachment_id: uuid.UUID
    ) -> Response:
        """Return the original of a file that a run of the team has."""
        run = access_run(team_id=self.principal.team_id, run_id=run_id)
        found = attachment_of_run(
            team_id=run.team_id, run_id=run.id, attachment_id=attachment_id
        )
        encoded = base64.b64encode(attachment_content(found)).decode()
        shown: Mapping[str, Any] = {"attachment": found, "content": encoded}
        return Response(AttachmentContentOutput(shown).data)


def _own(view: RestView, attachment_id: uuid.UUID) -> Attachment:
    return attachment_access(
        team_id=view.principal.team_id,
        owner=view.principal.actor,
        attachment_id=attachment_id,
    )
