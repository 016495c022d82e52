"""Images by their content: which type, and how many pixels. Nothing is decoded."""

from __future__ import annotations

STARTS: dict[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""What files of the accepted types begin with."""
PNG_END = b"IEND\xaeB`\x82"
JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""Markers of JPEG segments that say the size."""
JPEG_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a segment."""


def image_type(content: bytes) -> str | None:
    """Return the media type of an image; None: it is of no accepted type."""
    for name, starts in STARTS.items():
        if content.startswith(starts):
            return name if name != "image/webp" or content[8:12] == b"WEBP" else None
    return None


def image_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels as the file states them; None: it is damaged.

    A file that goes on after its image counts as damaged, where that can be told.
    """
    kind = image_type(content)
    reader = _READERS.get(kind or "")
    found = reader(content) if reader else None
    return found if found and all(found) else None


def _png(content: bytes) -> tuple[int, int] | None:
    if content[12:16] != b"IHDR" or not content.endswith(PNG_END):
        return None
    return _big(content[16:20]), _big(content[20:24])


def _gif(content: bytes) -> tuple[int, int] | None:
    return _little(content[6:8]), _little(content[8:10])


def _jpeg(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 <= len(content) and content[at] == 0xFF:
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in JPEG_ALONE:
            at += 2
        elif marker in JPEG_FRAMES:
            return _big(content[at + 7 : at + 9]), _big(content[at + 5 : at + 7])
        else:
            at += 2 + max(2, _big(content[at + 2 : at + 4]))
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    length = _little(content[4:8]) + 8
    if len(content) not in (length, length + 1):
        return None
    chunk, body = content[12:16], content[20:30]
    if chunk == b"VP8X":
        return _little(body[4:7]) + 1, _little(body[7:10]) + 1
    if chunk == b"VP8L" and body[:1] == b"\x2f":
        bits = _little(body[1:5])
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 " and body[3:6] == b"\x9d\x01\x2a":
        return _little(body[6:8]) & 0x3FFF, _little(body[8:10]) & 0x3FFF
    return None


def _big(part: bytes) -> int:
    return int.from_bytes(part, "big")


def _little(part: bytes) -> int:
    return int.from_bytes(part, "little")


_READERS = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
