"""Reads one document: `python -I reader.py KIND`, the file on standard input.

Writes what it says as JSON to standard output. It limits itself before it looks at the
file, and can then open no socket, begin no process and write no file.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
from pathlib import Path

if __name__ == "__main__":  # with -I, nothing of the product can be imported yet
    sys.path.append(str(Path(__file__).resolve().parents[3]))

from apps.attachments.reading.bounds import (
    CPU_S,
    MEMORY_BYTES,
    Document,
    DocumentUnreadable,
)
from apps.attachments.reading.docx import read_docx
from apps.attachments.reading.office import NO_OFFICE, Archive
from apps.attachments.reading.pdf import read_pdf
from apps.attachments.reading.pptx import read_pptx
from apps.attachments.reading.xlsx import read_xlsx
from apps.sandbox import system_calls as calls
from apps.sandbox.syscall_filter import filter_program

NICENESS = 5
PRESENTATIONS = (
    "presentationml.presentation.main",
    "presentationml.slideshow.main",
)


def main() -> None:
    """Read the document of standard input."""
    limit()
    logging.disable()  # the library comments on every damaged file
    content = sys.stdin.buffer.read()
    try:
        told = read(sys.argv[1], content)._asdict()
    except DocumentUnreadable as exc:
        told = {"fault": str(exc)}
    except MemoryError:
        told = {"fault": "the document needs too much memory to be read"}
    sys.stdout.write(json.dumps(told))


def limit() -> None:
    """Give up what reading a document does not need."""
    os.nice(NICENESS)
    for kind, most in (
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    calls.filter_install(filter_program(calls.MACHINE, families=()))


def read(kind: str, content: bytes) -> Document:
    """Return what a document says. Raises: DocumentUnreadable."""
    if kind == "pdf":
        return read_pdf(content)
    archive = Archive(content)
    types = archive.main_type()
    if "macroenabled" in types:
        raise DocumentUnreadable("the file has macros; save it without them")
    if "wordprocessingml.document.main" in types:
        return read_docx(archive)._replace(kind="docx")
    if "spreadsheetml.sheet.main" in types:
        return read_xlsx(archive)._replace(kind="xlsx")
    if any(kind in types for kind in PRESENTATIONS):
        return read_pptx(archive)._replace(kind="pptx")
    raise DocumentUnreadable(NO_OFFICE)


if __name__ == "__main__":
    main()
