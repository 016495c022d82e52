"""Request bodies: JSON objects, read strictly.

Refused with 400: anything that is not UTF-8 or not JSON, NaN and infinities, lone
surrogates, numbers no database holds, deep nesting, and an object that names a field
twice, because then two readers see two requests.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import IO, Any, cast

import orjson
from django.http import UnreadablePostError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core.errors import InvalidInput, PayloadTooLarge
from apps.rest.errors import UnsupportedMediaType
from apps.web.body_limits import body_limit

MAX_NAMES = 10_000
"""Of one object; none that means something has so many."""
MAX_DIGITS = 19
"""Whole numbers of 64 bits have no more."""


class StrictJSONParser(BaseParser):
    """Reads one JSON object."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the object in `stream`; nothing at all reads as an empty one.

        Raises: InvalidInput, PayloadTooLarge.
        """
        limit = body_limit(getattr(stream, "path", ""))
        try:
            raw = stream.read(limit + 1)
        except UnreadablePostError as exc:
            raise InvalidInput("the request body broke off") from exc
        if len(raw) > limit:
            raise PayloadTooLarge(f"the request body is longer than {limit} bytes")
        return parse_object(raw) if raw.strip() else {}


class JSONAlways(BaseContentNegotiation):
    """Answers JSON whatever a client says it likes: there is nothing else to get."""

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser | None:
        """Return the only parser. The body's type is checked where it is read."""
        return next(iter(parsers))

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the first renderer."""
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object a request carries, with or without a Content-Length.

    Raises: InvalidInput, PayloadTooLarge, UnsupportedBody.
    """
    kind = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if kind not in ("", StrictJSONParser.media_type):
        raise UnsupportedMediaType(
            f"the body is declared as {kind[:100]!r}; send JSON with the header "
            "'Content-Type: application/json'"
        )
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType(
            f"the body is encoded as {encoding[:100]!r}; send plain"
        )
    return StrictJSONParser().parse(cast(IO[bytes], request._request))


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in `raw`. Raises: InvalidInput."""
    try:
        orjson.loads(raw)  # strict about all but numbers and repeated names
        document = json.loads(
            raw,
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_float=_number,
        )
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"the request body is not valid JSON: {exc}") from exc
    if not isinstance(document, dict):
        raise InvalidInput("the request body must be a JSON object")
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_NAMES:
        raise ValueError(f"an object holds more than {MAX_NAMES:,} names")
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the name {twice[:100]!r} is there twice")
    return found


def _whole(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError("a number is too large")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value
