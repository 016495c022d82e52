"""Pages of the documentation as HTML: headings with ids, links among the pages.

The texts are the site's own, so they pass no sanitiser; raw HTML stays text all the
same. A link to a file that is not served is shown as its words.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from urllib.parse import urlsplit

from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.web.documentation.library import Doc, anchors_of, doc_list

_PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
    ["table", "strikethrough"]
)
_PARSER.disable("image")
_PARSER.add_render_rule(
    "table_open", lambda *args: '<div class="table-scroll" tabindex="0"><table>'
)
_PARSER.add_render_rule("table_close", lambda *args: "</table></div>")


@cache
def doc_html(name: str) -> SafeString:
    """Return a page as HTML. Raises: KeyError if there is none of that name."""
    doc = doc_list()[name]
    tokens = _PARSER.parse(doc.path.read_text("utf-8"))
    heads = [
        (opening, content)
        for opening, content in pairwise(tokens)
        if opening.type == "heading_open"
    ]
    texts = [_plain(content) for _, content in heads]
    for (opening, _), anchor in zip(heads, anchors_of(texts), strict=True):
        opening.attrSet("id", anchor)
    for opening, content, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type == "th_open" and not content.content:
            opening.tag = closing.tag = "td"  # a head without words is none
    for token in tokens:
        if token.type == "fence":
            token.attrSet("tabindex", "0")
        _lead(doc, token.children or [])
    html = str(_PARSER.renderer.render(tokens, _PARSER.options, {}))
    return mark_safe(html)  # nosec B308 B703


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def _lead(doc: Doc, children: list[Token]) -> None:
    """Make links lead to pages of the site; take away those that lead nowhere."""
    is_dead = False
    for token in children:
        if token.type == "link_open":
            address = _address(doc, str(token.attrGet("href") or ""))
            is_dead = address is None
            if is_dead:
                token.tag = "span"
                token.attrs = {}
            else:
                token.attrSet("href", str(address))
        elif token.type == "link_close" and is_dead:
            token.tag = "span"


def _address(doc: Doc, href: str) -> str | None:
    parts = urlsplit(href)
    if parts.scheme in {"http", "https", "mailto"} or (href[:1] in {"#", "/"}):
        return href
    target = (doc.path.parent / parts.path).resolve()
    for name, other in doc_list().items():
        if other.path.resolve() == target:
            anchor = f"#{parts.fragment}" if parts.fragment else ""
            return reverse("doc", args=[name]) + anchor
    return None
