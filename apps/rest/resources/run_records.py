"""What is on record of a run: its ledger entries, and their export with proofs."""

from __future__ import annotations

import uuid

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import EXPORT_RUNS, READ_ENTRIES
from apps.audit.bundles.export import BUNDLE_TYPE, bundle_create, bundle_is_long
from apps.audit.selectors import entry_list, with_previous_hashes
from apps.audit.types import EntryView
from apps.core.errors import Conflict
from apps.rest.fields import Output, Time
from apps.rest.pagination import page_by_seq
from apps.rest.resources.runs import TAG
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.selectors import access_run

# --- what goes out -------------------------------------------------------------------


class EntryActorOutput(Output):
    """Who did it."""

    type = serializers.CharField()
    id = serializers.CharField()
    display = serializers.CharField()
    on_behalf_of = serializers.CharField()


class EntryOutput(Output):
    """An entry of the ledger."""

    seq = serializers.IntegerField(help_text="Its place in the team's chain.")
    id = serializers.UUIDField()
    action = serializers.CharField()
    outcome = serializers.CharField()
    subject_type = serializers.CharField()
    subject_id = serializers.UUIDField()
    recorded_at = Time()
    actor = EntryActorOutput()
    context = serializers.DictField(  # type: ignore[assignment]
        child=serializers.CharField()
    )
    data = serializers.DictField()  # type: ignore[assignment]
    bodies = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        help_text="Content by name. Null: it has been erased.",
    )
    hash = serializers.CharField()
    previous_hash = serializers.CharField()


# --- operations ----------------------------------------------------------------------


class RunEntries(RestView):
    """What is on record of a run."""

    tag = TAG
    rights = {"GET": READ_ENTRIES}

    @operation("run_entries", "Read a run's ledger entries", page_of=EntryOutput)
    def get(self, request: Request, run_id: uuid.UUID) -> Response:
        """Return a run's ledger entries in order, with their content."""
        run = access_run(team_id=self.principal.team_id, run_id=run_id)

        def read(after_seq: int, limit: int) -> list[EntryView]:
            entries = entry_list(
                run.team_id, subject_id=run.id, after_seq=after_seq, limit=limit
            )
            return with_previous_hashes(run.team_id, entries)

        return self.paged(page_by_seq(read, **self.read_page()), EntryOutput)


class RunExport(RestView):
    """The record of a run as a file that proves itself."""

    tag = TAG
    rights = {"GET": EXPORT_RUNS}

    @operation(
        "run_export",
        "Export a run's record with proofs",
        file_type=BUNDLE_TYPE,
        errors=(409,),
    )
    def get(self, request: Request, run_id: uuid.UUID) -> HttpResponse:
        """Return a ZIP file of a run's entries, texts, proofs and a verifier.

        The export is recorded in the ledger. 409: the record does not verify, or it is
        too long for one request; then `POST /ledger/exports/` makes the same file.
        """
        run = access_run(team_id=self.principal.team_id, run_id=run_id)
        if bundle_is_long(run.team_id, run.id):
            raise Conflict(
                "this record is too long for one request; order it with POST "
                '/api/v1/ledger/exports/ and {"format": "bundle", "texts": true, '
                f'"subject_id": "{run.id}"}}'
            )
        made = bundle_create(
            team_id=run.team_id, run_id=run.id, actor=self.principal.actor
        )
        disposition = f'attachment; filename="{made.name}"'
        return HttpResponse(
            made.content,
            content_type=BUNDLE_TYPE,
            headers={"Content-Disposition": disposition},
        )
