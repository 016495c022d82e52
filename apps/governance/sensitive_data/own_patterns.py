"""Kinds of sensitive data that a policy defines itself, by regular expressions.

RE2 matches them: in time linear in the length of the text, whatever the expression.
Pure: knows no database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from pydantic_core import PydanticCustomError

from apps.core.data_classes import DataClassName
from apps.core.input_parts import (
    InputPart,
    one_line,
    pattern_compiled,
    regular_expression,
)
from apps.governance.sensitive_data.detection import KINDS, Finding
from apps.governance.sensitive_data.plain_form import plain_form

MAX_PATTERN = 500
"""Characters."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}", re.ASCII)


def _is_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise PydanticCustomError(
            "kind",
            "must be a name of lower-case letters, digits and underscores, such as "
            "customer_number",
        )
    if name in KINDS:
        raise PydanticCustomError("kind", "is the name of a kind that is built in")
    return name


def _finds_something(pattern: str) -> str:
    if pattern_compiled(pattern).search("") is not None:
        raise PydanticCustomError("pattern", "must not match an empty text")
    return pattern


class OwnPattern(InputPart):
    """A kind of sensitive data, and the regular expression that finds it."""

    name: Annotated[str, AfterValidator(_is_name)]
    """As rules, findings and placeholders name it: `customer_number`."""
    pattern: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MAX_PATTERN),
        AfterValidator(one_line),
        AfterValidator(regular_expression),
        AfterValidator(_finds_something),
    ]
    """In the syntax of RE2; `(?i)` at the beginning ignores case."""
    data_class: DataClassName = "confidential"
    """Of a prompt in which it is found, at least."""

    def findings(self, text: str) -> Iterator[Finding]:
        """Yield what it finds in a text or in its plain form, in order."""
        compiled, plain = pattern_compiled(self.pattern), plain_form(text)
        spans = [found.span() for found in compiled.finditer(text)]
        if plain.text != text:
            found_plain = (found.span() for found in compiled.finditer(plain.text))
            spans += [plain.span(*span) for span in found_plain if span[0] < span[1]]
        last_end = 0
        for start, end in sorted(spans):
            if start < end and start >= last_end:
                yield Finding(self.name, start, end)
                last_end = end
