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
from apps.rest.openapi_30 import as_openapi_30
from apps.rest.views import RestView


@cache
def api_document() -> bytes:
    """Return the OpenAPI 3.1 document of the whole API, as JSON."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    document = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(document)


@cache
def api_document_30() -> bytes:
    """Return the same document as OpenAPI 3.0, as JSON."""
    return orjson.dumps(as_openapi_30(orjson.loads(api_document())))


@extend_schema(exclude=True)
class ApiSchema(RestView):
    """The OpenAPI document, for everybody: it holds nothing of any team."""

    authentication_classes = []
    permission_classes = []

    def get(self, request: Request) -> HttpResponse:
        """Return the document."""
        return HttpResponse(api_document(), content_type="application/json")


@extend_schema(exclude=True)
class ApiSchema30(ApiSchema):
    """The same as OpenAPI 3.0, which more tools read."""

    def get(self, request: Request) -> HttpResponse:
        """Return the document."""
        return HttpResponse(api_document_30(), content_type="application/json")


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
        # Swagger UI resolves the whole of a 3.1 document again for every operation that
        # is opened, which keeps the page busy for seconds.
        # https://github.com/swagger-api/swagger-ui/issues/10250
        self.url = reverse("rest:schema_30")
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
