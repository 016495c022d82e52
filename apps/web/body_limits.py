"""How long the bodies of requests to pages and to the REST API may be."""

from __future__ import annotations

from django.conf import settings

PAGE_UPLOADS, REST_UPLOADS = "/playground/attachments/", "/api/v1/attachments/"
BESIDE_BYTES = 20_000
"""Of a body that holds a file, for all that is beside it."""


def body_limit(path: str) -> int:
    """Return the most bytes that the body of a request to `path` may have."""
    if path == PAGE_UPLOADS:
        return int(settings.MAX_ATTACHMENT_BYTES) + BESIDE_BYTES
    if path == REST_UPLOADS:  # base64
        return int(settings.MAX_ATTACHMENT_BYTES) * 4 // 3 + BESIDE_BYTES
    return int(settings.MAX_FORM_BYTES)
