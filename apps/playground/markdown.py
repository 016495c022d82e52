"""Model text as HTML. Model text is hostile: the sanitiser always has the last word.

Guarantees that what comes out holds no script, no style, no image, no form and no
address other than http, https or mailto, and that it loads nothing by itself.
"""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

TAGS = frozenset(
    {
        *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("strong", "em", "s", "code", "pre", "blockquote", "a"),
        *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
    }
)
_PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
    ["table", "strikethrough"]
)
_PARSER.disable("image")
_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes={"a": {"href"}, "ol": {"start"}, "code": {"class"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}},
    attribute_filter=lambda tag, name, value: _keep(tag, name, value),
)


def _keep(tag: str, name: str, value: str) -> str | None:
    if tag == "code" and name == "class":
        return value if value.startswith("language-") and " " not in value else None
    return value


def render(text: str) -> SafeString:
    """Return Markdown as HTML that is safe to put on a page."""
    return mark_safe(_CLEANER.clean(_PARSER.render(text)))  # nosec B308 B703
