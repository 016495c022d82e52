"""What a file is and says, by its content. Its name decides nothing."""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import NamedTuple

from django.conf import settings

from apps.attachments.images import image_size, image_type
from apps.attachments.models import AttachmentKind
from apps.attachments.reading.bounds import (
    MAX_CHARACTERS,
    Document,
    DocumentUnreadable,
    counted,
)
from apps.attachments.reading.process import document_read

MAX_PIXELS = 50_000_000
PDF_START, ZIP_START = b"%PDF-", b"PK\x03\x04"
OLD_OFFICE_START = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Of files of old Office versions, and of new ones with a password."""
DOCUMENT_TYPES = {
    AttachmentKind.PDF: "application/pdf",
    AttachmentKind.WORD: "application/vnd.openxmlformats-officedocument"
    ".wordprocessingml.document",
    AttachmentKind.EXCEL: "application/vnd.openxmlformats-officedocument"
    ".spreadsheetml.sheet",
    AttachmentKind.POWERPOINT: "application/vnd.openxmlformats-officedocument"
    ".presentationml.presentation",
}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SVG = re.compile(r"<(?:[\w.-]+:)?svg[\s/>]", re.IGNORECASE)
HEAD_CHARACTERS = 4_000
"""Where an SVG image says that it is one."""
SPACES = frozenset("\n\r\t\f\v\x1b")
"""Control characters that texts have."""


class FileContent(NamedTuple):
    """What a file is and says."""

    kind: AttachmentKind
    media_type: str
    extent: str
    text: str = ""
    cut: str = ""


def content_read(content: bytes) -> FileContent:
    """Return what a file is and says. Blocks. Raises: DocumentUnreadable."""
    if not content:
        raise DocumentUnreadable("the file is empty")
    if (media_type := image_type(content)) is not None:
        return _image(content, media_type)
    if content.startswith(PDF_START):
        return _document(document_read("pdf", content))
    if content.startswith(ZIP_START):
        return _document(document_read("office", content))
    if content.startswith(OLD_OFFICE_START):
        raise DocumentUnreadable(
            "the file has a password, or is of an old version of Office; save it as "
            ".docx, .xlsx or .pptx without one"
        )
    return _text(content)


def _document(read: Document) -> FileContent:
    kind = AttachmentKind(read.kind)
    # Control characters are no text, and no database holds all of them.
    text = "".join(c for c in read.text if c.isprintable() or c in SPACES)
    return FileContent(kind, DOCUMENT_TYPES[kind], read.extent, text, read.cut)


def _image(content: bytes, media_type: str) -> FileContent:
    size = image_size(content)
    if size is None:
        raise DocumentUnreadable("the image is damaged")
    if len(content) > settings.MAX_IMAGE_BYTES:
        limit = settings.MAX_IMAGE_BYTES / 1_000_000
        raise DocumentUnreadable(f"the image is too large (limit {limit:g} MB)")
    width, height = size
    if width * height > MAX_PIXELS:
        raise DocumentUnreadable(
            f"the image has more than {MAX_PIXELS // 1_000_000} megapixels"
        )
    return FileContent(AttachmentKind.IMAGE, media_type, f"{width} × {height} pixels")


def _text(content: bytes) -> FileContent:
    encodings = (
        name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark)
    )
    try:
        text = content.decode(next(encodings, "utf-8"))
    except UnicodeDecodeError as exc:
        raise DocumentUnreadable(_NO_TYPE) from exc
    if any(unicodedata.category(c) == "Cc" and c not in SPACES for c in set(text)):
        raise DocumentUnreadable(_NO_TYPE)
    if SVG.search(text[:HEAD_CHARACTERS]):
        raise DocumentUnreadable("SVG images are not accepted; send it as PNG")
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise DocumentUnreadable("the file is empty")
    lines = text.count("\n") + (not text.endswith("\n"))
    kept, cut = text[:MAX_CHARACTERS], ""
    if len(text) > MAX_CHARACTERS:
        shown = counted(kept.count("\n"), "line")
        cut = f"the first {shown} of {lines:,} are included"
    return FileContent(
        AttachmentKind.TEXT, "text/plain", counted(lines, "line"), kept, cut
    )


_NO_TYPE = (
    "the file is of no type that can be read: text, code, CSV, PDF, Word (.docx), "
    "Excel (.xlsx), PowerPoint (.pptx), or a PNG, JPEG, WebP or GIF image"
)
