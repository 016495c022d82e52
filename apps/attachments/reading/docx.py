"""The text of Word documents: paragraphs, and tables with a tab between cells."""

from __future__ import annotations

from apps.attachments.reading.bounds import (
    Document,
    DocumentUnreadable,
    Writing,
    counted,
)
from apps.attachments.reading.office import Archive
from apps.attachments.reading.paragraphs import ParagraphWriter

PART = "word/document.xml"


def read_docx(archive: Archive) -> Document:
    """Return the text of the body. Raises: DocumentUnreadable."""
    body = ParagraphWriter(Writing())
    archive.parse(archive.main_part(PART), body.begin, body.end, body.text)
    writing, extent = body.writing, counted(body.paragraphs, "paragraph")
    if not writing.text.strip():
        raise DocumentUnreadable("the document has no text")
    if not (writing.is_full or writing.is_cut):
        return Document(writing.text, extent)
    return Document(
        writing.text, f"more than {extent}", f"the first {extent} are included"
    )
