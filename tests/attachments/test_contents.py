"""What files say, and how hostile ones are refused: by content, and within bounds."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import ZipFile

import pytest
from pypdf import PdfReader, PdfWriter

from apps.attachments.contents import content_read
from apps.attachments.reading.bounds import MAX_CHARACTERS, DocumentUnreadable
from tests.attachments.made_files import (
    GIF,
    JPEG,
    MACRO_TYPE,
    WEBP,
    archive,
    docx,
    paragraph,
    pdf,
    png,
    pptx,
    relations,
    slide,
    xlsx,
)

"""A document is read or refused within that."""


def without(content: bytes, part: str) -> bytes:
    """Return an archive without one of its parts."""
    with ZipFile(BytesIO(content)) as made:
        return archive({n: made.read(n) for n in made.namelist() if n != part})


def encrypted(content: bytes) -> bytes:
    writer, out = PdfWriter(PdfReader(BytesIO(content))), BytesIO()
    writer.encrypt("secret")
    writer.write(out)
    return out.getvalue()


def test_texts_are_read_with_their_lines():
    found = content_read("Grüße\r\nzwei\n".encode())
    assert (found.kind, found.extent) == ("text", "2 lines")
    assert found.text == "Grüße\nzwei\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_texts_with_a_byte_order_mark_are_read(encoding):
    assert content_read("Grüße".encode(encoding)).text == "Grüße"


def test_pdfs_are_read_page_by_page():
    found = content_read(pdf(["First words", "Second words"]))
    assert (found.kind, found.extent) == ("pdf", "2 pages")
    assert found.text.split() == [
        "[Page",
        "1]",
        "First",
        "words",
        "[Page",
        "2]",
        "Second",
        "words",
    ]


def test_word_documents_are_read_with_their_tables():
    cells = "".join(f"<w:tc>{paragraph(text)}</w:tc>" for text in ("a", "b"))
    body = f"{paragraph('Hello &amp; more')}<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    found = content_read(docx(body))
    assert found.kind == "docx"
    assert [line.split() for line in found.text.splitlines()] == [
        ["Hello", "&", "more"],
        ["a", "b"],
    ]


def test_workbooks_are_read_with_strings_dates_and_gaps():
    rows = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="C1"><v>1.5</v></c></row>'
        '<row><c r="A2" s="1"><v>45292</v></c><c r="B2" t="b"><v>1</v></c></row>'
        '<row><c r="A3" t="inlineStr"><is><t>own</t></is></c>'
        '<c r="B3" s="2"><v>45292.5</v></c></row>'
    )
    found = content_read(xlsx(rows))
    assert found.kind == "xlsx"
    assert found.extent == "1 sheet, 3 rows"
    assert found.text.splitlines()[:4] == [
        "[Sheet Figures]",
        "North\t\t1.5",
        "2024-01-01\tTRUE",
        "own\t2024-01-01T12:00:00",
    ]


def test_presentations_are_read_slide_by_slide_with_tables_and_notes():
    cells = "".join(
        f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
        for text in ("a", "b")
    )
    table = f"<p:graphicFrame><a:tbl><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame>"
    number = (
        '<p:sp><p:nvSpPr><p:nvPr><p:ph type="sldNum"/></p:nvPr></p:nvSpPr><p:txBody>'
        '<a:p><a:fld type="slidenum"><a:t>1</a:t></a:fld></a:p></p:txBody></p:sp>'
    )
    found = content_read(
        pptx(
            [
                slide("Shown last"),
                slide("Title", "Point &amp; line", more=number + table),
            ],
            notes=slide("To be said", more=number),
        )
    )
    assert found.kind == "pptx"
    assert found.media_type.endswith("presentationml.presentation")
    assert found.extent == "2 slides"
    assert [line.split() for line in found.text.splitlines()] == [
        ["[Slide", "1]"],
        ["Title"],
        ["Point", "&", "line"],
        ["a", "b"],
        ["[Notes]"],
        ["To", "be", "said"],
        [],
        ["[Slide", "2]"],
        ["Shown", "last"],
        [],
    ]


def test_what_is_said_again_for_old_programs_is_read_once():
    again = (
        "<mc:AlternateContent xmlns:mc='urn:x'><mc:Choice>{0}</mc:Choice>"
        "<mc:Fallback>{0}</mc:Fallback></mc:AlternateContent>"
    )
    box = "<p:sp><p:txBody><a:p><a:r><a:t>In a box</a:t></a:r></a:p></p:txBody></p:sp>"
    shown = content_read(pptx([slide("First", more=again.format(box))]))
    assert shown.text.split("\n") == ["[Slide 1]", "First", "In a box", "", ""]
    written = content_read(docx(again.format(paragraph("In a box"))))
    assert written.text == "In a box\n"


@pytest.mark.parametrize("part", ["word/document2.xml", "/word/document2.xml"])
def test_main_part_is_found_where_the_file_says_it_is(part):
    made = docx(
        "",
        more={
            "word/document2.xml": "<d><p><t>Moved</t></p></d>",
            "_rels/.rels": relations(("officeDocument", part)),
        },
    )
    assert content_read(without(made, "word/document.xml")).text == "Moved\n"


@pytest.mark.parametrize(
    ("image", "kind", "extent"),
    [
        (png(), "image/png", "2 × 3 pixels"),
        (JPEG, "image/jpeg", "8 × 9 pixels"),
        (GIF, "image/gif", "5 × 4 pixels"),
        (WEBP, "image/webp", "7 × 8 pixels"),
    ],
)
def test_images_are_known_by_their_content(image, kind, extent):
    found = content_read(image)
    assert (found.kind, found.media_type, found.extent) == ("image", kind, extent)


BILLION_LAUGHS = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><d>&b;</d>'
NO_DOCUMENT = (
    r"no Word \(\.docx\), Excel \(\.xlsx\) or PowerPoint \(\.pptx\) document that can "
    "be read; it may be damaged, or be of another type than its name says"
)
REFUSED = {
    "nothing": (lambda: b"", "the file is empty"),
    "blank text": (lambda: b" \n ", "the file is empty"),
    "program": (lambda: b"\x7fELF\x02\x01\x01\x00\xff", "no type that can be read"),
    "text with NUL": (lambda: b"a\x00b", "no type that can be read"),
    "SVG with a script": (
        lambda: (
            b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">'
            b"<script>alert(1)</script></svg>"
        ),
        "SVG images are not accepted",
    ),
    "PNG with an archive after it": (
        lambda: png() + archive({"a": "b"}),
        "the image is damaged",
    ),
    "huge image": (lambda: png(60_000, 60_000), "more than 50 megapixels"),
    "broken PDF": (lambda: b"%PDF-1.7\nxref\n0 99999999\n", "the PDF is damaged"),
    "PDF without text": (lambda: pdf([""]), "the PDF has no text"),
    "PDF with a password": (lambda: encrypted(pdf(["x"])), "has a password"),
    "old Office file": (
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 512,
        "has a password, or is of an old version of Office",
    ),
    "archive": (lambda: archive({"a.txt": "b"}), NO_DOCUMENT),
    "broken archive": (lambda: b"PK\x03\x04" + b"x" * 100, NO_DOCUMENT),
    "Word document without its text": (
        lambda: without(docx(paragraph("x")), "word/document.xml"),
        NO_DOCUMENT,
    ),
    "workbook without a sheet's values": (
        lambda: without(xlsx("<row/>"), "xl/worksheets/sheet1.xml"),
        NO_DOCUMENT,
    ),
    "presentation without a slide's text": (
        lambda: without(pptx([slide("x")]), "ppt/slides/slide1.xml"),
        NO_DOCUMENT,
    ),
    "presentation of images": (lambda: pptx([slide()]), "the presentation has no text"),
    "presentation with entities": (
        lambda: pptx([BILLION_LAUGHS]),
        "declares entities of its own",
    ),
    "presentation with deep XML": (
        lambda: pptx(["<p:sp>" * 100_000]),
        "nested too deeply|damaged",
    ),
    "presentation with macros": (
        lambda: pptx([slide("x")], more={"ppt/vbaProject.bin": b"x"}),
        "the file has macros",
    ),
    "document with macros by type": (
        lambda: docx(paragraph("x"), MACRO_TYPE),
        "the file has macros",
    ),
    "document with macros by part": (
        lambda: docx(paragraph("x"), more={"word/vbaProject.bin": b"x"}),
        "the file has macros",
    ),
    "zip bomb": (
        lambda: docx(paragraph("x"), more={"word/media/a": b"\x00" * 120_000_000}),
        "unpacked, the file has more than 100,000,000 bytes",
    ),
    "many files": (
        lambda: archive({f"f{i}": "" for i in range(6_000)}),
        "more than 5,000 files",
    ),
    "deep XML": (
        lambda: docx("<w:p>" * 100_000 + "</w:p>" * 100_000),
        "nested too deeply",
    ),
    "entities": (
        lambda: docx("", more={"word/document.xml": BILLION_LAUGHS}),
        "declares entities of its own",
    ),
    "document without text": (lambda: docx("<w:p/>"), "the document has no text"),
    "workbook without values": (lambda: xlsx("<row/>"), "no values"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_reason(name):
    make, reason = REFUSED[name]
    with pytest.raises(DocumentUnreadable, match=reason):
        content_read(make())


def test_an_archive_that_lies_about_its_size_is_refused():
    bomb = docx(paragraph("x" * 120_000_000))
    # The size in the directory at the end, which is all that is read beforehand.
    name = b"word/document.xml"
    at = bomb.rindex(b"PK\x01\x02", 0, bomb.rindex(name))
    lied = bomb[: at + 24] + (1_000).to_bytes(4, "little") + bomb[at + 28 :]
    with pytest.raises(DocumentUnreadable, match=r"damaged|unpacked"):
        content_read(lied)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: pdf(["word"] * 10_000), r"the first [\d,]+ of 10,000 pages"),
        (
            lambda: docx("".join(paragraph("word " * 40) for _ in range(20_000))),
            r"the first [\d,]+ paragraphs are included",
        ),
        (
            lambda: xlsx('<row><c r="A1"><v>1</v></c></row>' * 300_000),
            r"the first [\d,]+ rows are included",
        ),
        (
            lambda: pptx([slide("word " * 10_000)] * 50),
            r"the first [\d,]+ of 50 slides are included",
        ),
        (lambda: b"line\n" * 1_000_000, r"the first [\d,]+ lines of 1,000,000"),
    ],
    ids=["pages", "paragraphs", "rows", "slides", "lines"],
)
def test_what_is_too_long_is_cut_and_says_so(make, reason):
    found = content_read(make())
    assert len(found.text) <= MAX_CHARACTERS
    assert re.search(reason, found.cut), found.cut
