"""Tags of runs."""

from __future__ import annotations

import uuid

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import RUN
from apps.rest.fields import Input, Output, TextField
from apps.rest.resources.runs import TAG
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.selectors import access_run
from apps.runs.services import MOST_TAGS, TAG_LENGTH, run_tags_set


class RunTagsInput(Input):
    """The tags that a run is to have, and no others."""

    tags = serializers.ListField(
        child=TextField(max_length=TAG_LENGTH), max_length=MOST_TAGS
    )


class RunTagsOutput(Output):
    """The tags of a run."""

    tags = serializers.ListField(child=serializers.CharField())


class RunTags(RestView):
    """The tags of a run."""

    tag = TAG
    rights = {"PUT": RUN}

    @operation(
        "run_tags_set",
        "Tag a run",
        body=RunTagsInput,
        answer=RunTagsOutput,
        sent={"tags": ["checked", "quarter 3"]},
        example={"tags": ["checked", "quarter 3"]},
    )
    def put(self, request: Request, run_id: uuid.UUID) -> Response:
        """Give a run these tags, for everybody in the team. No tag has a comma."""
        values = self.read(RunTagsInput)
        run = access_run(team_id=self.principal.team_id, run_id=run_id)
        tags = run_tags_set(run=run, tags=values["tags"], actor=self.principal.actor)
        return Response({"tags": list(tags)})
