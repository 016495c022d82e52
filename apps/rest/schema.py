"""The OpenAPI descriptions of operations.

`operation` is all a view says; what every operation shares (errors, the team header,
who may call it, the request id) is added here, so that no view can forget it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import serializers

from apps.accounts.models import Role
from apps.accounts.rights import ANY_KEY, Right
from apps.accounts.selectors import role_allows
from apps.rest.authentication import TEAM_HEADER
from apps.rest.fields import Input, Output, Query
from apps.rest.pagination import PageQuery, page_output

ViewT = TypeVar("ViewT", bound=Callable[..., Any])
ERRORS = {
    400: "The request is wrong; `param` and `fields` say where.",
    401: "Not authenticated: the API key or session is missing or invalid.",
    403: "Not allowed: the role or the API key does not permit this.",
    404: "There is no such thing in the team.",
    409: "Something else holds on to it.",
    412: "It has been changed since; read it again.",
    413: "The body is too large.",
    415: "The body is declared as something other than JSON.",
    422: "The pool, a credential or a provider cannot be used as it is set up.",
    428: "`If-Match` is missing.",
    429: "A rate or a budget is used up. `Retry-After`, if waiting helps.",
    503: "Come back after `Retry-After` seconds.",
}
ALWAYS = (401, 403, 404, 429, 503)
WITH_BODY = (400, 413, 415)
HIDDEN = "…"
"""Stands for a secret in examples."""
TEAM = OpenApiParameter(
    TEAM_HEADER,
    str,
    OpenApiParameter.HEADER,
    description="Slug or id of the team meant. For sessions; without it, "
    "the team chosen on the pages. A key always means its own.",
)
REQUEST_HEADER = OpenApiParameter(
    "X-Request-Id",
    str,
    OpenApiParameter.HEADER,
    response=True,
    description="Yours if you sent one of at most 128 plain characters.",
)
FOR_OPERATORS = "For operators of the site: staff who are superusers. No key may do it."
PUBLIC = "Needs neither role nor scope."


class ErrorDetailOutput(Output):
    """What went wrong."""

    code = serializers.CharField(help_text="A stable word for programs.")
    message = serializers.CharField(help_text="One sentence for people.")
    param = serializers.CharField(
        allow_null=True, help_text="The first field at fault, if one is."
    )
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="All messages by field; `tiers.ultra.max_steps` names a nested one.",
    )


class ErrorOutput(Output):
    """The body of every error."""

    error = ErrorDetailOutput()


def operation(
    operation_id: str,
    summary: str,
    *,
    answer: type[Output] | None = None,
    file_type: str | None = None,
    page_of: type[Output] | None = None,
    status: int = 200,
    body: type[Input] | None = None,
    is_partial: bool = False,
    query: type[Query] | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    errors: Sequence[int] = (),
    example: dict[str, Any] | None = None,
    sent: dict[str, Any] | None = None,
) -> Callable[[ViewT], ViewT]:
    """Describe a method of a view. No answer, no file and no page: 204.

    `example` is an answer, or an item of the page; `sent` is a body.
    """
    found = page_output(page_of) if page_of else answer
    asked = query or (PageQuery if page_of else None)
    codes = {*ALWAYS, *errors, *(WITH_BODY if body else ())}
    codes |= {400} if asked or 428 in codes else set()
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        request=body(partial=is_partial) if body else None,
        parameters=[*((asked,) if asked else ()), *parameters],
        responses={
            **_success(found, file_type, status),
            **{code: _error(code) for code in sorted(codes)},
        },
        examples=_examples(sent, example, is_page=page_of is not None, status=status),
    )


def _success(
    found: type[Output] | None, file_type: str | None, status: int
) -> dict[Any, Any]:
    """Return the description of the answer of a request that succeeds."""
    if file_type:
        return {(status, file_type): OpenApiTypes.BINARY}
    if found:
        return {status: found}
    return {204: OpenApiResponse(description="Done.")}


def _error(code: int) -> OpenApiResponse:
    return OpenApiResponse(ErrorOutput, description=ERRORS[code])


def _examples(
    sent: dict[str, Any] | None,
    example: dict[str, Any] | None,
    *,
    is_page: bool,
    status: int,
) -> list[OpenApiExample]:
    found = []
    if sent is not None:
        found.append(OpenApiExample("Request", value=sent, request_only=True))
    if example is not None:
        value = {"data": [example], "next_cursor": None} if is_page else example
        found.append(
            OpenApiExample(
                "Answer", value=value, response_only=True, status_codes=[str(status)]
            )
        )
    return found


class OperationSchema(AutoSchema):
    """Adds to each operation what all have in common."""

    def get_tags(self) -> list[str]:
        """Return the view's heading."""
        view: Any = self.view
        return [view.tag]

    def get_description(self) -> str:  # type: ignore[override]
        """Return the method's docstring, and who may call it."""
        view: Any = self.view
        right = view.rights.get(self.method)
        who = FOR_OPERATORS if view.is_for_operators else _who_may(right)
        return f"{super().get_description()}\n\n{who}".strip()

    def get_auth(self) -> list[Any]:
        """Return the ways to authenticate; operators have sessions alone."""
        view: Any = self.view
        ways = super().get_auth()
        return [w for w in ways if "session" in w] if view.is_for_operators else ways

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        """Return the component's name; which way it goes is added where it matters."""
        name = type(serializer).__name__
        return name.removesuffix("Input").removesuffix("Output")

    def get_override_parameters(self) -> list[Any]:
        """Return the headers of every operation; only those of teams name one."""
        view: Any = self.view
        return [REQUEST_HEADER] if view.is_for_operators else [TEAM, REQUEST_HEADER]


class BearerKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """An API key."""

    target_class = "apps.rest.authentication.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "cdk_…",
            "description": "An API key of the team. Its scopes say what it may do.",
        }


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session of the pages."""

    target_class = "apps.rest.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme."""
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "For scripts in the pages. All but reading needs the "
            "header `X-CSRFToken` with the value of the cookie `csrftoken`.",
        }


def _who_may(right: Right | None) -> str:
    if right is None:
        return PUBLIC
    roles = [r for r in Role.values if role_allows(r, right.permission)]
    who = f"For members: {', '.join(roles)}."
    if not right.scopes:
        return f"{who} No key may do this."
    if right.scopes == ANY_KEY:
        return f"{who} For every key."
    scopes = " or ".join(f"`{scope}`" for scope in right.scopes)
    return f"{who} For keys with {scopes}."
