"""The text of PDF files."""

from __future__ import annotations

from io import BytesIO

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from apps.attachments.reading.bounds import (
    Document,
    DocumentUnreadable,
    Writing,
    counted,
)

MAX_PAGES = 1_000


def read_pdf(content: bytes) -> Document:
    """Return the text of all pages, as many as fit. Raises: DocumentUnreadable."""
    try:
        return _read(content)
    except RecursionError as exc:
        raise DocumentUnreadable("the PDF is nested too deeply") from exc
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError) as exc:
        # The library meets broken files with errors of all these kinds.
        raise DocumentUnreadable("the PDF is damaged") from exc


def _read(content: bytes) -> Document:
    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentUnreadable("the PDF has a password; remove it first")
    number = len(reader.pages)
    writing, read = Writing(), 0
    for page in reader.pages:
        if writing.is_full or read == MAX_PAGES:
            break
        text = page.extract_text().strip()
        read += 1
        writing.add(f"[Page {read}]\n{text}\n\n" if text else "")
    if not writing.text:
        raise DocumentUnreadable(
            "the PDF has no text; it may consist of scanned images, which are not read"
        )
    cut = ""
    if read < number or writing.is_cut:
        cut = f"the first {read:,} of {counted(number, 'page')} are included"
    return Document(writing.text, counted(number, "page"), cut)
