"""The base of all operations: headers, principal, input, pages of output."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, ClassVar, TypeVar

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.principal import Principal
from apps.accounts.rights import Right
from apps.audit.types import Actor
from apps.budgets.rate_limits import UNLIMITED, Admission
from apps.core.errors import InvalidInput, NotFound
from apps.rest.fields import Input, Output, Query
from apps.rest.pagination import Page, PageQuery, page_by_place
from apps.rest.parsing import read_object
from apps.rest.permissions import IsOperator
from apps.web.waiting import wait_for

T = TypeVar("T")


class RestView(APIView):
    """Operations at one address."""

    tag: ClassVar[str] = ""
    """Heading in the documentation."""
    rights: ClassVar[Mapping[str, Right]] = {}
    """Required right by HTTP method; a method without one is refused."""
    is_for_operators: ClassVar[bool] = False
    """True: about the whole site; `rights` are not looked at."""
    starts_runs: ClassVar[bool] = False
    """True: POST counts the request itself, with the tokens of the prompt."""
    admission: Admission = UNLIMITED
    """What the rate limits say; sent in the response's headers."""
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    principal: Principal
    """Set by `permissions.HasRight` before the method is called."""

    def finalize_response(
        self,
        request: Request,
        response: Response,
        *args: Any,
        **kwargs: Any,
    ) -> Response:
        """Add the headers of every answer. Answers are a team's own: never cached."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Cache-Control"] = "no-store"
        for name, value in self.admission.headers:
            answer[name] = value
        return answer

    def wait_for(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what `work` returns, which the event loop does, not this thread.

        Raises: what it raises; Suspended, which views let through.
        """
        return wait_for(self.request._request, work)

    def read(self, kind: type[Input], *, is_partial: bool = False) -> dict[str, Any]:
        """Return the body's values; of a partial one those that are there.

        Raises: InvalidFields, InvalidInput.
        """
        data = read_object(self.request)
        if is_partial and not data:
            raise InvalidInput("the body changes nothing; name a field")
        taken = kind(data=data, partial=is_partial)
        taken.is_valid(raise_exception=True)
        return dict(taken.validated_data)

    def read_query(self, kind: type[Query]) -> dict[str, Any]:
        """Return the values in the address. Raises: InvalidFields."""
        taken = kind(data=self.request.query_params.dict())
        taken.is_valid(raise_exception=True)
        return dict(taken.validated_data)

    def read_page(self, kind: type[PageQuery] = PageQuery) -> dict[str, Any]:
        """Return the values in the address of a list."""
        return {"cursor": None, **self.read_query(kind)}

    def listed(self, rows: QuerySet[Any] | list[Any], output: type[Output]) -> Response:
        """Answer with the wanted page of a short list."""
        return self.paged(page_by_place(rows, **self.read_page()), output)

    def paged(self, page: Page[Any], output: type[Output]) -> Response:
        """Answer with a page."""
        data = output(page.data, many=True).data
        return Response({"data": data, "next_cursor": page.next_cursor})

    def created(self, data: Mapping[str, Any], location: str) -> Response:
        """Answer that something is there now, and where."""
        return _located(data, location, 201)

    def accepted(self, data: Mapping[str, Any], location: str) -> Response:
        """Answer that work goes on in the background, and where to read how far."""
        return _located(data, location, 202)


def _located(data: Mapping[str, Any], location: str, status: int) -> Response:
    url = f"{settings.CONDUCTOR_URL}{location}"
    return Response(data, status=status, headers={"Location": url})


class OperatorView(RestView):
    """Operations on the whole site, for its operators. No team is behind them."""

    permission_classes = [IsOperator]
    is_for_operators = True
    operator: Actor
    """Set by `permissions.IsOperator` before the method is called."""


@extend_schema(exclude=True)
class NoSuchAddress(RestView):
    """Every address under the API that is none."""

    authentication_classes = []
    permission_classes = []

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Answer 404 in the shape of all errors, whatever the method."""
        self.args, self.kwargs = args, kwargs
        self.request = self.initialize_request(request)
        self.headers = self.default_response_headers
        hint = "" if request.path.endswith("/") else "; addresses end with a slash"
        error = NotFound(f"there is nothing at {request.path[:200]!r}{hint}")
        answer = self.handle_exception(error)
        self.response = self.finalize_response(self.request, answer)
        return self.response
