"""The text of PowerPoint presentations: slide by slide, each with its notes."""

from __future__ import annotations

from collections.abc import Mapping

from apps.attachments.reading.bounds import (
    Document,
    DocumentUnreadable,
    Writing,
    counted,
)
from apps.attachments.reading.office import Archive, relation_of
from apps.attachments.reading.paragraphs import ParagraphWriter

PART = "ppt/presentation.xml"
NOTES = "/notesSlide"
"""How the type of the relation to a slide's notes ends."""
MAX_SLIDES = 1_000


def read_pptx(archive: Archive) -> Document:
    """Return the text of all slides, as many as fit. Raises: DocumentUnreadable."""
    slides = _slides(archive)
    writing, read, has_text = Writing(), 0, False
    for part in slides[:MAX_SLIDES]:
        if writing.is_full:
            break
        read += 1
        writing.add(f"[Slide {read}]\n")
        has_text |= _write(archive, part, writing)
        for relation in archive.relations(part).values():
            if relation.kind.endswith(NOTES):
                writing.add("[Notes]\n")
                has_text |= _write(archive, relation.part, writing)
        writing.add("\n")
    if not has_text:
        raise DocumentUnreadable(
            "the presentation has no text; it may consist of images, which are not read"
        )
    extent, cut = counted(len(slides), "slide"), ""
    if read < len(slides) or writing.is_cut or writing.is_full:
        cut = f"the first {read:,} of {extent} are included"
    return Document(writing.text, extent, cut)


def _slides(archive: Archive) -> list[str]:
    """Return the parts of the slides, in the order in which they are shown."""
    main = archive.main_part(PART)
    relations = archive.relations(main)
    parts: list[str] = []

    def begin(tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sldId" and (relation := relations.get(relation_of(attributes))):
            parts.append(relation.part)

    archive.parse(main, begin)
    return parts


def _write(archive: Archive, part: str, writing: Writing) -> bool:
    """Write the text of a slide, or of its notes; return True if there is some."""
    slide = ParagraphWriter(writing)
    archive.parse(part, slide.begin, slide.end, slide.text)
    return slide.has_text
