"""Text that others wrote, made safe to pass on.

`quoted` guards the way into a prompt, where such text stands inside a section of ours
and must not look like the end of it; `clean` guards the way out of a reply.
"""

from __future__ import annotations

import re

SECTION_TAGS = ("question", "response", "failure", "rejected")
"""Names of the tags that enclose other people's text in our prompts."""
SECTION_HEADINGS = (
    "Available models",
    "Your previous plan",
    "Your rejected answer",
    "Model \\d",
    "Step \\d+: (?:completed|failed|skipped)",
)
"""Beginnings of lines that carry structure in our prompts, as patterns."""

_TAG = re.compile(rf"<(?=\s{{0,8}}/?\s{{0,8}}(?:{'|'.join(SECTION_TAGS)})\b)", re.I)
# Servers turn such marks into control tokens wherever they occur in a message, so they
# would end the whole message and not just our section.
_CONTROL_TOKEN = re.compile(r"<(?=[|｜][^|｜<>\s]{1,40}[|｜]>)")
_HEADING = re.compile(rf"[ \t]*(?:{'|'.join(SECTION_HEADINGS)})", re.I)
_LOOK_ALIKE = "‹"


def quoted(text: str) -> str:
    """Return `text` unable to open, close or imitate a section of our prompts.

    The `<` of our own tags and of control tokens becomes `‹`; a line that begins like
    a heading of ours gets a `> ` before it. All other text stays as it is.
    """
    text = _TAG.sub(_LOOK_ALIKE, clean(text))
    text = _CONTROL_TOKEN.sub(_LOOK_ALIKE, text)
    # Every break Python knows starts a line, because a reader may split at any of them.
    return "".join(
        f"> {line}" if _HEADING.match(line) else line
        for line in text.splitlines(keepends=True)
    )


def shorten(text: str, limit: int) -> str:
    """Return `text` without its middle if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    left_out = len(text) - limit
    return f"{text[:head]} […{left_out} characters left out…] {text[head + left_out :]}"


def one_line(text: str) -> str:
    """Return `text` with every run of white space, line breaks included, as a space."""
    return " ".join(text.split())


def clean(text: str) -> str:
    """Return `text` fit for every store: no lone surrogates, no NUL."""
    if text.isascii():
        return text.replace("\0", "")
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return paired.replace("\0", "")
