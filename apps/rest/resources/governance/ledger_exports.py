"""Exports of the ledger: entries of a filter as a file, made in the background."""

from __future__ import annotations

import uuid
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import EXPORT_RUNS
from apps.audit.exports.jobs import (
    access_export,
    export_delete,
    export_download,
    export_list,
    export_request,
)
from apps.audit.exports.parts import FILE_TYPE
from apps.audit.jobs import job_state
from apps.audit.models import ExportFormat, LedgerExport
from apps.rest.fields import Input, Output, Time
from apps.rest.resources.governance.ledger import EntryFilterFields, wanted_of
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.web.downloads import download

TAG = "Ledger"
EXPORT: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000031",
    "state": "completed",
    "format": "jsonl",
    "texts": False,
    "filter": {"action": "api_key.*"},
    "progress": {"reached": 4712, "through": 4712, "entries": 17},
    "bytes": 5210,
    "sha256": "0" * 64,
    "error": "",
    "requested_by": "Alice",
    "created_at": "2026-11-23T15:53:16.000000Z",
    "finished_at": "2026-11-23T15:53:18.000000Z",
    "expires_at": "2026-11-30T15:53:18.000000Z",
}
REQUEST: dict[str, Any] = {"format": "jsonl", "action": "api_key.*"}


class ExportInput(EntryFilterFields, Input):
    """Which entries, and how."""

    format = serializers.ChoiceField(choices=ExportFormat.choices)
    texts = serializers.BooleanField(
        required=False,
        default=False,
        help_text="With prompts, answers and other texts that are kept apart.",
    )


class ExportProgressOutput(Output):
    """How far an export is."""

    reached = serializers.IntegerField(
        source="reached_seq", help_text="All entries up to this seq were searched."
    )
    through = serializers.IntegerField(
        source="through_seq", help_text="The search ends here."
    )
    entries = serializers.IntegerField(help_text="That are in the file so far.")


class LedgerExportOutput(Output):
    """An export of the ledger."""

    id = serializers.UUIDField()
    state = serializers.SerializerMethodField()
    format = serializers.CharField()
    texts = serializers.BooleanField(source="has_texts")
    filter = serializers.DictField()
    progress = ExportProgressOutput(source="*")
    bytes = serializers.IntegerField(source="size")
    sha256 = serializers.CharField(help_text="Of the file. Empty: there is none (yet).")
    error = serializers.CharField(help_text="Why there is no file. Empty: no fault.")
    requested_by = serializers.SerializerMethodField()
    created_at = Time()
    finished_at = Time(allow_null=True)
    expires_at = Time(allow_null=True)

    def get_state(self, export: LedgerExport) -> str:
        """Return waiting, running, lost (another process begins again), completed
        or failed.
        """
        state = job_state(export)
        if state != "done":
            return state
        return "failed" if export.error else "completed"

    def get_requested_by(self, export: LedgerExport) -> str:
        """Return the name of the person or key."""
        return str(export.requested_by.get("display", ""))


class LedgerExports(RestView):
    """The exports of the team's ledger."""

    tag = TAG
    rights = {"GET": EXPORT_RUNS, "POST": EXPORT_RUNS}

    @operation(
        "ledger_export_list",
        "List exports of the ledger",
        page_of=LedgerExportOutput,
        example=EXPORT,
    )
    def get(self, request: Request) -> Response:
        """Return the exports, newest first."""
        exports = export_list(team_id=self.principal.team_id)
        return self.listed(exports, LedgerExportOutput)

    @operation(
        "ledger_export_create",
        "Export entries of the ledger",
        body=ExportInput,
        answer=LedgerExportOutput,
        status=202,
        errors=(409,),
        sent=REQUEST,
        example=EXPORT,
    )
    def post(self, request: Request) -> Response:
        """Order a file of all entries so far that the filter lets through.

        It is made in the background, and kept for seven days. 409: the team has as
        many exports as it may have.
        """
        asked = self.read(ExportInput)
        export = export_request(
            team_id=self.principal.team_id,
            wanted=wanted_of(asked),
            form=ExportFormat(asked["format"]),
            has_texts=asked["texts"],
            actor=self.principal.actor,
        )
        return Response(LedgerExportOutput(export).data, status=202)


class LedgerExportView(RestView):
    """One export."""

    tag = TAG
    rights = {"GET": EXPORT_RUNS, "DELETE": EXPORT_RUNS}

    @operation(
        "ledger_export_get",
        "Read how far an export is",
        answer=LedgerExportOutput,
        example=EXPORT,
    )
    def get(self, request: Request, export_id: uuid.UUID) -> Response:
        """Return an export."""
        return Response(LedgerExportOutput(self._export(export_id)).data)

    @operation("ledger_export_delete", "Cancel or delete an export")
    def delete(self, request: Request, export_id: uuid.UUID) -> Response:
        """Delete an export and its file; one in progress is cancelled."""
        export = self._export(export_id)
        export_delete(export=export, actor=self.principal.actor)
        return Response(status=204)

    def _export(self, export_id: uuid.UUID) -> LedgerExport:
        return access_export(team_id=self.principal.team_id, export_id=export_id)


class LedgerExportFile(RestView):
    """The file of an export."""

    tag = TAG
    rights = {"GET": EXPORT_RUNS}

    @operation(
        "ledger_export_file",
        "Download an export",
        file_type=FILE_TYPE,
        errors=(409,),
    )
    def get(self, request: Request, export_id: uuid.UUID) -> HttpResponseBase:
        """Return a ZIP file of the entries, a signed manifest and the public keys.

        Each download is recorded in the ledger. 409: there is no file (yet).
        """
        principal = self.principal
        export = access_export(team_id=principal.team_id, export_id=export_id)
        parts = export_download(export=export, actor=principal.actor)
        name = f"ledger-{export.id}.zip"
        own = request._request
        return download(own, parts, name=name, kind=FILE_TYPE, size=export.size)
