"""Files of every accepted type, and hostile ones, as bytes."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = (
    f'<Types xmlns="{PACKAGE}/content-types"><Override PartName="/main.xml" '
    'ContentType="application/vnd.{}+xml"/></Types>'
)
DOCX_TYPE = "openxmlformats-officedocument.wordprocessingml.document.main"
XLSX_TYPE = "openxmlformats-officedocument.spreadsheetml.sheet.main"
PPTX_TYPE = "openxmlformats-officedocument.presentationml.presentation.main"
MACRO_TYPE = "ms-word.document.macroEnabled.main"


def archive(parts: dict[str, str | bytes]) -> bytes:
    """Return a ZIP file."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in parts.items():
            made.writestr(name, content)
    return out.getvalue()


def docx(
    body: str, kind: str = DOCX_TYPE, more: Mapping[str, str | bytes] | None = None
) -> bytes:
    """Return a Word document with this XML in its body, and more parts."""
    text = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    parts = {"[Content_Types].xml": TYPES.format(kind), "word/document.xml": text}
    return archive({**parts, **(more or {})})


def paragraph(text: str) -> str:
    """Return a paragraph of a Word document."""
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(rows: str, **more: str | bytes) -> bytes:
    """Return a workbook of one sheet called Figures, with this XML in its rows."""
    book = (
        f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets>'
        '<sheet name="Figures" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    links = (
        f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        'Type="sheet" Target="worksheets/sheet1.xml"/></Relationships>'
    )
    styles = (
        f'<styleSheet xmlns="{SHEET}"><numFmts><numFmt numFmtId="170" '
        'formatCode="yyyy\\-mm"/></numFmts><cellXfs><xf numFmtId="0"/>'
        '<xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>'
    )
    strings = f'<sst xmlns="{SHEET}"><si><t>North</t></si><si><t>South</t></si></sst>'
    sheet = f'<worksheet xmlns="{SHEET}"><sheetData>{rows}</sheetData></worksheet>'
    parts = {
        "[Content_Types].xml": TYPES.format(XLSX_TYPE),
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": links,
        "xl/styles.xml": styles,
        "xl/sharedStrings.xml": strings,
        "xl/worksheets/sheet1.xml": sheet,
    }
    return archive({**parts, **more})


def slide(*paragraphs: str, more: str = "") -> str:
    """Return the XML of a slide, or of its notes, with a text box."""
    text = "".join(f"<a:p><a:r><a:t>{each}</a:t></a:r></a:p>" for each in paragraphs)
    return (
        f'<p:sld xmlns:p="{SLIDES}" xmlns:a="{DRAWING}"><p:cSld><p:spTree>'
        f"<p:sp><p:txBody>{text}</p:txBody></p:sp>{more}</p:spTree></p:cSld></p:sld>"
    )


def pptx(
    slides: list[str],
    notes: str = "",
    more: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """Return a presentation of these slides, in reverse order; notes of the last."""
    shown = "".join(
        f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(len(slides), 0, -1)
    )
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": TYPES.format(PPTX_TYPE),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{SLIDES}" '
        f'xmlns:r="{RELATIONS}"><p:sldIdLst>{shown}</p:sldIdLst></p:presentation>',
        "ppt/_rels/presentation.xml.rels": relations(
            *(("slide", f"slides/slide{n}.xml") for n in range(1, len(slides) + 1))
        ),
    }
    for number, text in enumerate(slides, start=1):
        parts[f"ppt/slides/slide{number}.xml"] = text
    if notes:
        place = f"ppt/slides/_rels/slide{len(slides)}.xml.rels"
        parts[place] = relations(("notesSlide", "../notesSlides/notesSlide1.xml"))
        parts["ppt/notesSlides/notesSlide1.xml"] = notes
    return archive({**parts, **(more or {})})


def relations(*targets: tuple[str, str]) -> str:
    """Return the relations of a part: kind and target of each, numbered from rId1."""
    listed = "".join(
        f'<Relationship Id="rId{n}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{listed}</Relationships>'


def pdf(texts: list[str]) -> bytes:
    """Return a PDF with a text on each page."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    pages = []
    for text in texts:
        drawn = f"BT /F1 12 Tf 20 20 Td ({text}) Tj ET".encode()
        number = len(objects) + 1
        pages.append(f"{number} 0 R")
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources "
            b"<< /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (number + 1)
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawn), drawn))
    kids = " ".join(pages).encode()
    objects[1] = b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, len(texts))
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return out + b"startxref\n%d\n%%%%EOF\n" % start


def png(width: int = 2, height: int = 3) -> bytes:
    """Return a PNG image; of a large one, only what states its size is true."""

    def chunk(name: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    lines = (b"\x00" + b"\x80" * 3 * width) * height if width < 1_000 else b""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xc0\x00\x0b\x08\x00\x09\x00\x08\x01\x01\x11\x00\xff\xd9"
)
GIF = b"GIF89a\x05\x00\x04\x00\x00\x00\x00;"
WEBP = (
    b"RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00"
    b"\x00\x00\x00\x00\x06\x00\x00\x07\x00\x00"
)
