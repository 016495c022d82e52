"""Views of the list of runs that people keep."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import KEEP_VIEWS, READ_RUNS
from apps.rest.fields import Flag, Input, Output, TextField
from apps.rest.resources.runs import TAG
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.models import SavedView
from apps.runs.saved_view_models import VIEW_NAME_LENGTH, VIEW_QUERY_LENGTH
from apps.runs.saved_views import (
    access_saved_view,
    saved_view_create,
    saved_view_delete,
    saved_view_list,
)

SENT = {"name": "Dear failures", "query": "state=failed&sort=cost", "hidden": ["plan"]}
EXAMPLE = {
    "id": "0199c0de-0000-7000-8000-000000000009",
    **SENT,
    "is_shared": False,
    "made_by": "Alice",
    "url": "http://127.0.0.1:8000/runs/?state=failed&sort=cost",
}


class SavedViewInput(Input):
    """A view to keep; one of yours with this name is replaced."""

    name = TextField(max_length=VIEW_NAME_LENGTH)
    query = TextField(
        max_length=VIEW_QUERY_LENGTH,
        required=False,
        allow_blank=True,
        help_text="What follows `?` in the address of the page: filters and order.",
    )
    hidden = serializers.ListField(
        child=TextField(max_length=20),
        required=False,
        max_length=20,
        help_text="Columns that it does not show.",
    )
    is_shared = Flag(default=False, help_text="Everybody in the team sees it.")


class SavedViewOutput(Output):
    """A view."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    query = serializers.CharField()
    hidden = serializers.ListField(child=serializers.CharField())
    is_shared = serializers.BooleanField()
    made_by = serializers.CharField(source="user.get_full_name")
    url = serializers.SerializerMethodField(help_text="Of the list, as it shows it.")

    def get_url(self, view: SavedView) -> str:
        """Return the address of the list."""
        return f"{settings.CONDUCTOR_URL}/runs/?{view.query}"


class SavedViews(RestView):
    """The views that you see."""

    tag = TAG
    rights = {"GET": READ_RUNS, "POST": KEEP_VIEWS}

    @operation(
        "saved_view_list", "List views", page_of=SavedViewOutput, example=EXAMPLE
    )
    def get(self, request: Request) -> Response:
        """Return your views of the list of runs and those that others share."""
        principal = self.principal
        rows = saved_view_list(principal.team_id, principal.user)
        return self.listed(rows.select_related("user"), SavedViewOutput)

    @operation(
        "saved_view_create",
        "Keep a view",
        body=SavedViewInput,
        answer=SavedViewOutput,
        status=201,
        errors=(409,),
        sent=SENT,
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Keep filters, order and columns of the list of runs under a name."""
        values = self.read(SavedViewInput)
        view = saved_view_create(principal=self.principal, values=values)
        location = reverse("rest:saved_view", args=[view.id])
        return self.created(SavedViewOutput(view).data, location)


class OneSavedView(RestView):
    """One view."""

    tag = TAG
    rights = {"GET": READ_RUNS, "DELETE": KEEP_VIEWS}

    @operation(
        "saved_view_read", "Read a view", answer=SavedViewOutput, example=EXAMPLE
    )
    def get(self, request: Request, view_id: uuid.UUID) -> Response:
        """Return a view."""
        return Response(
            SavedViewOutput(access_saved_view(self.principal, view_id)).data
        )

    @operation("saved_view_delete", "Delete a view")
    def delete(self, request: Request, view_id: uuid.UUID) -> Response:
        """Delete a view that you made."""
        view = access_saved_view(self.principal, view_id)
        saved_view_delete(principal=self.principal, view=view)
        return Response(status=204)
