"""How large files of prompts are, in the language of a page.

Their records say it in English, which models read as well.
"""

from __future__ import annotations

import re

from django.utils.translation import get_language, gettext, ngettext

from apps.web.script_words import ENGLISH

_COUNTED = re.compile(r"(?P<shown>[\d,]+) (?P<noun>[a-z]+?)s?(?P<more> or more)?")
_CUT = re.compile(
    r"the first (?P<shown>.{1,80}?)(?: of (?P<total>.{1,80}))? are included"
)


def extent_words(extent: str) -> str:
    """Return how large a file is: `3 sheets, 40 rows`."""
    if get_language() == ENGLISH:
        return extent
    return ", ".join(_counted(part) for part in extent.split(", "))


def cut_words(cut: str) -> str:
    """Return which part of a file was read; empty: all of it."""
    found = _CUT.fullmatch(cut)
    if found is None or get_language() == ENGLISH:
        return cut
    shown = _counted(found["shown"])
    if found["total"] is None:
        return gettext("the first {shown} are included").format(shown=shown)
    total = _counted(found["total"])
    words = gettext("the first {shown} of {total} are included")
    return words.format(shown=shown, total=total)


def _counted(words: str) -> str:
    found = _COUNTED.fullmatch(words)
    if found is None:
        return words
    number = int(found["shown"].replace(",", ""))
    nouns = {
        "line": ngettext("{shown} line", "{shown} lines", number),
        "page": ngettext("{shown} page", "{shown} pages", number),
        "paragraph": ngettext("{shown} paragraph", "{shown} paragraphs", number),
        "sheet": ngettext("{shown} sheet", "{shown} sheets", number),
        "slide": ngettext("{shown} slide", "{shown} slides", number),
        "row": ngettext("{shown} row", "{shown} rows", number),
    }
    counted = nouns.get(found["noun"], words).format(shown=found["shown"])
    return (
        gettext("{counted} or more").format(counted=counted)
        if found["more"]
        else counted
    )
