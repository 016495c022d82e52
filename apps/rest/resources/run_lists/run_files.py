"""Lists of runs as files."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request

from apps.accounts.rights import EXPORT_RUNS
from apps.rest.resources.run_lists.run_filters import (
    GAPS_HEADER,
    RunFilterQuery,
    run_filters,
)
from apps.rest.resources.runs import TAG
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.selectors import run_search
from apps.runs.services import RunListFormat, run_list_export
from apps.web.downloads import download


class RunFileQuery(RunFilterQuery):
    """Which runs, and in which form."""

    file = serializers.ChoiceField(
        choices=RunListFormat.choices, default=RunListFormat.JSONL.value
    )


class RunFile(RestView):
    """A list of runs as a file."""

    tag = TAG
    rights = {"GET": EXPORT_RUNS}

    @operation(
        "run_list_export",
        "Export a list of runs",
        file_type=RunListFormat.JSONL.media_type,
        query=RunFileQuery,
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Return the newest 100,000 runs at most; that is recorded in the ledger."""
        asked = self.read_query(RunFileQuery)
        form = RunListFormat(asked.pop("file"))
        names, team_id = list(asked), self.principal.team_id
        search = run_search(team_id=team_id, filters=run_filters(asked))
        parts = run_list_export(
            team_id=team_id,
            runs=search.runs,
            form=form,
            filters=names,
            actor=self.principal.actor,
        )
        own = request._request
        answer = download(own, parts, name=f"runs.{form}", kind=form.media_type)
        if search.gaps:
            answer[GAPS_HEADER] = ", ".join(search.gaps)
        return answer
