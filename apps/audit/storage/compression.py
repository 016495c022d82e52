"""How the bytes of entries are stored: each compressed alone, with a common dictionary.

Entries are much alike and share most of their text with the dictionary, so a frame is a
fifth of the JSON. Hashes, codes, exports and searches are over the JSON. A stored entry
is a frame of zstd (RFC 8878), which names its dictionary. A dictionary is part of the
record: entries need it for ever, so a better one is added beside it. JSON, which begins
with a brace, is what versions without compression stored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard
from django.db import models

if TYPE_CHECKING:
    _BinaryField = models.BinaryField[bytes, bytes]
else:
    _BinaryField = models.BinaryField

DICTIONARY = Path(__file__).with_name("files") / "entries-1.zstd-dict"
LEVEL = 3
MAX_ENTRY_BYTES = 1 << 26
"""A larger entry is not appended, and a frame that claims to hold more is not read."""
_codecs = threading.local()
"""A compressor and a decompressor serve one call at a time."""


def compressed(entries: Sequence[bytes]) -> list[bytes]:
    """Return what is stored of entries, which are not empty.

    All are compressed by one call, because the library releases the interpreter lock in
    each.
    """
    frames = _compressor().multi_compress_to_buffer(list(entries))
    return [frames[index].tobytes() for index in range(len(frames))]


def decompressed(stored: Any) -> bytes:
    """Return the bytes of an entry.

    Returns bytes that are not a frame unchanged: verification reports them.
    """
    frame: bytes = stored.encode() if isinstance(stored, str) else bytes(stored)
    if not frame.startswith(zstandard.FRAME_HEADER):
        return frame
    try:
        if not 0 <= zstandard.frame_content_size(frame) <= MAX_ENTRY_BYTES:
            return frame
        return _decompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError:
        return frame


class EntryBytesField(_BinaryField):
    """The bytes of an entry, compressed or not; what is assigned is stored as it is."""

    def from_db_value(self, value: Any, *_: Any) -> bytes | None:
        """Return the JSON of an entry."""
        return None if value is None else decompressed(value)


def _compressor() -> zstandard.ZstdCompressor:
    if not hasattr(_codecs, "compressor"):
        _codecs.compressor = zstandard.ZstdCompressor(LEVEL, _dictionary())
    compressor: zstandard.ZstdCompressor = _codecs.compressor
    return compressor


def _decompressor() -> zstandard.ZstdDecompressor:
    if not hasattr(_codecs, "decompressor"):
        _codecs.decompressor = zstandard.ZstdDecompressor(_dictionary())
    decompressor: zstandard.ZstdDecompressor = _codecs.decompressor
    return decompressor


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    dictionary = zstandard.ZstdCompressionDict(DICTIONARY.read_bytes())
    dictionary.precompute_compress(level=LEVEL)
    return dictionary
