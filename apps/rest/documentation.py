"""The OpenAPI document and the pages that show it, served by this site alone."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

import orjson
from django.contrib.auth import get_user
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.rest.answer_endpoints import ANSWER_ENDPOINTS, SAMPLE_REQUESTS
from apps.rest.views import RestView


@cache
def api_document() -> bytes:
    """Return the OpenAPI document of the whole API, as JSON."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    document = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(document)


@extend_schema(exclude=True)
class ApiSchema(RestView):
    """The OpenAPI document, for everybody: it holds nothing of any team."""

    authentication_classes = []
    permission_classes = []

    def get(self, request: Request) -> HttpResponse:
        """Return the document."""
        return HttpResponse(api_document(), content_type="application/json")


@extend_schema(exclude=True)
class ApiDocs(SpectacularSwaggerSplitView):
    """The document as pages to read and try, under the site's strict policy."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
    template_name = "rest/docs.html"
    title = "Conductor API"

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Return the page, or the script that starts it."""
        self.url = reverse("rest:schema")
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        if "script" in request.GET:
            return answer
        # The header of the page names who is signed in, whom the API does not ask for.
        visitor = request._request
        visitor.user = get_user(visitor)
        context = {
            **answer.data,
            "answers": ANSWER_ENDPOINTS,
            "samples": SAMPLE_REQUESTS,
            "run_url": reverse("playground:run_detail", args=[UUID(int=0)]),
        }
        return render(visitor, self.template_name, context)
