"""Images in messages: `https:` addresses, and `data:` URLs that hold the image.

An address is handed on to the worker's provider and never opened here.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from apps.attachments.images import STARTS, image_type
from apps.core.errors import InvalidInput
from apps.engine.ports import ImagePart, ImageUrl
from apps.gateway.parsing.json_fields import type_error

DETAILS = ("auto", "low", "high")
MAX_ADDRESS = 2_000
"""Characters of an address."""
BASE64 = ";base64"


def read_image(url: Any, detail: Any, where: str) -> ImagePart:
    """Return the image at `url`. Raises: InvalidInput naming `where`."""
    if not isinstance(url, str) or not url:
        raise type_error(where, "an https: or data: URL", url)
    if url[:5].lower() == "data:":
        _check_data(url, where)
    else:
        _check_address(url, where)
    image: ImageUrl = {"url": url}
    if detail is not None:
        if detail not in DETAILS:
            raise InvalidInput(
                f"{where}: detail must be one of {', '.join(DETAILS)}", param=where
            )
        image["detail"] = detail
    return {"type": "image_url", "image_url": image}


def check_images(images: Sequence[ImagePart], where: str) -> None:
    """Check how many images there are and what they weigh together.

    A conversation that is gone on with may hold more than one request can.
    Raises: InvalidInput naming `where`.
    """
    if len(images) > settings.MAX_IMAGES:
        raise InvalidInput(
            f"{where}: {len(images)} images, at most {settings.MAX_IMAGES} are allowed",
            param=where,
        )
    size = sum(len(image["image_url"]["url"]) for image in images)
    if size > settings.MAX_REQUEST_BYTES:
        raise InvalidInput(
            f"{where}: the images of the whole conversation have {size} bytes, at most "
            f"{settings.MAX_REQUEST_BYTES} are allowed",
            param=where,
        )


def _check_address(url: str, where: str) -> None:
    if url[:8].lower() != "https://" or not url[8:]:
        raise InvalidInput(f"{where}: expected an https: or data: URL", param=where)
    if len(url) > MAX_ADDRESS or not url.isascii() or not url.isprintable():
        raise InvalidInput(
            f"{where}: the address must be at most {MAX_ADDRESS} plain characters",
            param=where,
        )


def _check_data(url: str, where: str) -> None:
    head, comma, data = url[5:].partition(",")
    kind = head.removesuffix(BASE64).lower()
    if not comma or not head.endswith(BASE64) or kind not in STARTS:
        raise InvalidInput(
            f"{where}: expected data:<type>;base64,… with one of the types "
            f"{', '.join(STARTS)}",
            param=where,
        )
    limit = settings.MAX_IMAGE_BYTES
    if len(data) * 3 // 4 > limit + 2:
        raise InvalidInput(
            f"{where}: the image has about {len(data) * 3 // 4} bytes, at most {limit} "
            "are allowed",
            param=where,
        )
    try:
        content = binascii.a2b_base64(data, strict_mode=True)
    except ValueError as exc:  # other alphabets and wrong padding
        raise InvalidInput(f"{where}: the data is not base64", param=where) from exc
    if image_type(content) != kind:
        raise InvalidInput(f"{where}: the data is not of type {kind}", param=where)
