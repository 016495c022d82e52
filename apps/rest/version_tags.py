"""Versions as ETags: a change names the one it is of in `If-Match`."""

from __future__ import annotations

import re

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from apps.core.errors import InvalidInput
from apps.rest.errors import PreconditionRequired

ANY_VERSION = "*"
STRONG_TAG = re.compile(r'"(0|[1-9]\d{0,8})"')
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description='The `ETag` of the version that is changed, like `"3"`; or `*`.',
)


def etag_of(version: int) -> str:
    """Return the ETag of a version."""
    return f'"{version}"'


def expected_version(request: Request) -> int | None:
    """Return the version that `If-Match` names; None: any.

    Raises: PreconditionRequired, InvalidInput.
    """
    named = request.headers.get("If-Match", "").strip()
    if not named:
        raise PreconditionRequired(
            "name the version you change: send its ETag as If-Match", param="If-Match"
        )
    if named == ANY_VERSION:
        return None
    found = STRONG_TAG.fullmatch(named)
    if found is None:
        raise InvalidInput(
            'If-Match: expected one ETag, like "3", or *', param="If-Match"
        )
    return int(found[1])
