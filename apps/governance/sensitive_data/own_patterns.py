"""Kinds of sensitive data that a policy defines itself, by regular expressions.

RE2 matches them: in time linear in the length of the text, whatever the expression.
Pure: knows no database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any

import re2
from pydantic import AfterValidator, StringConstraints
from pydantic_core import PydanticCustomError

from apps.core.data_classes import DataClassName
from apps.core.input_parts import InputPart, one_line
from apps.governance.sensitive_data.detection import KINDS, Finding

MAX_PATTERN = 500
"""Characters."""
MAX_MEMORY = 1 << 20
"""Bytes that one compiled pattern may take."""
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


def _compiles(pattern: str) -> str:
    try:
        matches_nothing = _compiled(pattern).search("") is not None
    except re2.error as exc:
        raise PydanticCustomError(
            "pattern",
            "is not a valid pattern of RE2: {why}",
            {"why": _words_of(exc)},
        ) from None
    if matches_nothing:
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
        AfterValidator(_compiles),
    ]
    """In the syntax of RE2; `(?i)` at the beginning ignores case."""
    data_class: DataClassName = "confidential"
    """Of a prompt in which it is found, at least."""

    def findings(self, text: str) -> Iterator[Finding]:
        """Yield what it finds in a text, in order."""
        for match in _compiled(self.pattern).finditer(text):
            start, end = match.span()
            if start < end:
                yield Finding(self.name, start, end)


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    """Return the compiled pattern. Raises: re2.error."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    return re2.compile(pattern, options)


def _words_of(exc: Exception) -> str:
    """Return what RE2 says of a pattern; it says it in bytes."""
    why = exc.args[0] if exc.args else ""
    return why.decode(errors="replace") if isinstance(why, bytes) else str(why)
