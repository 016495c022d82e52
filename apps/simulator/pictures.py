"""Facts of an image without decoding it: type, bytes, pixels, digest."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
DATA_URL = re.compile(r"data:(?P<type>[\w.+/-]*);base64,(?P<data>.*)", re.DOTALL)
DIGEST_LENGTH = 12
JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG segment that holds the size. Source: ITU T.81, table B.1."""


class BadPicture(ValueError):
    """No image: another media type, or no base64."""


@dataclass(frozen=True, slots=True)
class Picture:
    """One image of a message."""

    address: str = ""
    """Where it is, if only that was sent. Nothing is fetched."""
    media_type: str = ""
    data: bytes = b""

    @property
    def described(self) -> str:
        """Return what can be said of it."""
        if not self.data:
            return f"at {self.address}"
        pixels = size(self.data)
        shown = f"{pixels[0]} × {pixels[1]} pixels" if pixels else "size not readable"
        digest = hashlib.sha256(self.data).hexdigest()[:DIGEST_LENGTH]
        return f"{self.media_type}, {len(self.data)} bytes, {shown}, sha256 {digest}"


def from_url(url: str) -> Picture:
    """Return the picture at a `data:` or other URL. Raises: BadPicture."""
    if not url.startswith("data:"):
        return Picture(address=url)
    match = DATA_URL.fullmatch(url)
    if match is None:
        raise BadPicture("expected data:<media type>;base64,<data>")
    return from_base64(match["type"], match["data"])


def from_base64(media_type: str, data: str) -> Picture:
    """Return the picture in `data`. Raises: BadPicture."""
    if media_type not in MEDIA_TYPES:
        raise BadPicture(f"no image type the model knows: {media_type!r}")
    try:
        decoded = base64.b64decode(data, validate=True)
    except binascii.Error as exc:
        raise BadPicture("the image is not valid base64") from exc
    if not decoded:
        raise BadPicture("the image is empty")
    return Picture(media_type=media_type, data=decoded)


def size(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels; None if the header cannot be read."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        return _big(data[16:20]), _big(data[20:24])
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return _little(data[6:8]), _little(data[8:10])
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp(data)
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        if data[at + 1] in JPEG_FRAMES:
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        at += 2 + _big(data[at + 2 : at + 4])
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8 ":
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case b"VP8L":
            bits = _little(data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")
