"""Keeps secrets and content of people and models out of logs.

Secrets are found by their shape, by the words before them, and, those of the site, by
what they are. Content comes into a log only by way of exceptions that quote what they
could not handle, so in production only those are quoted that speak of the machine.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from apps.core.errors import ConductorError

HIDDEN = "[hidden]"
LEAST_SECRET = 6
"""A shorter one would be found in harmless words."""
MAX_CAUSES = 8
"""The most exceptions of one chain or group that are logged."""
MAX_FRAMES = 40
OF_THE_MACHINE = (
    OSError,
    TimeoutError,
    OperationalError,
    InterfaceError,
    ImproperlyConfigured,
    ImportError,
    AttributeError,
    NameError,
    TypeError,
    RecursionError,
    MemoryError,
    NotImplementedError,
    ZeroDivisionError,
)
"""Exceptions whose words come from the program or the system, not from its input."""
SECRET_FIELDS = frozenset(
    {"authorization", "password", "secret", "api_key", "token", "cookie", "credential"}
)
CONTENT_FIELDS = frozenset(
    {"prompt", "messages", "content", "text", "answer", "body", "title", "output"}
)

_SHAPES = (
    (re.compile(r"\bcdk_[0-9A-Za-z]{6,}"), "cdk_" + HIDDEN),
    (re.compile(r"\bsk-[\w-]{6,}"), "sk-" + HIDDEN),
    (re.compile(r"\bAIza[\w-]{10,}"), HIDDEN),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}"), r"\1 " + HIDDEN),
    (re.compile(r"(://[^/\s:@]*):[^/\s]+@"), r"\1:" + HIDDEN + "@"),
    (re.compile(r"([?&]key)=[^\s&\"']+"), r"\1=" + HIDDEN),
    (
        re.compile(
            r"(?i)((?:api[-_]?key|token|secret|password|passwd|authorization|cookie)"
            r"[\"']?\s*[=:]\s*[\"']?)(?!\[hidden\]|bearer |basic )[^\s\"',;&)]+"
        ),
        r"\1" + HIDDEN,
    ),
)


def redact(text: str) -> str:
    """Return `text` without what looks like a secret or is one of the site's."""
    for secret in known_secrets() if settings.configured else ():
        if secret in text:
            text = text.replace(secret, HIDDEN)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


@lru_cache(maxsize=1)
def known_secrets() -> tuple[str, ...]:
    """Return the site's own secrets, longest first."""
    found = {
        settings.SECRET_KEY,
        *settings.SECRET_KEY_FALLBACKS,
        *(spec.partition(":")[2] for spec in settings.ENCRYPTION_KEYS),
        settings.OIDC_CLIENT_SECRET,
        settings.EMAIL_HOST_PASSWORD,
        settings.METRICS_TOKEN,
        str(settings.DATABASES["default"].get("PASSWORD") or ""),
        unquote(urlsplit(settings.REDIS_URL).password or ""),
    } - {settings.DEVELOPMENT_SECRET}
    return tuple(sorted((s for s in found if len(s) >= LEAST_SECRET), key=_length))


def _length(text: str) -> int:
    return -len(text)


def words_of(exc: BaseException, *, hides: bool) -> str:
    """Return what an exception says; of one that may quote content only how much."""
    words = str(exc)
    if not hides or isinstance(exc, OF_THE_MACHINE) or not words:
        return words
    if isinstance(exc, ConductorError):
        return f"({exc.code})"
    return f"({len(words)} characters withheld)"


def told_exception(exc: BaseException, *, hides: bool) -> str:
    """Return an exception, where it came from, and its causes, as lines."""
    return "\n".join(_lines(exc, hides))


def _lines(exc: BaseException, hides: bool) -> Iterator[str]:
    for number, (link, each) in enumerate(_related(exc)):
        if number == MAX_CAUSES:
            yield "… and more"
            return
        kind = type(each)
        words = words_of(each, hides=hides)
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        yield f"{link}{name}: {words}" if words else f"{link}{name}"
        for frame in traceback.extract_tb(each.__traceback__)[-MAX_FRAMES:]:
            yield f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
            if frame.line:
                yield f"    {frame.line}"


def _related(exc: BaseException) -> Iterator[tuple[str, BaseException]]:
    """Yield an exception and what led to it, each once, with words that link them."""
    waiting = [("", exc)]
    seen: set[int] = set()
    while waiting:
        link, each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield link, each
        if isinstance(each, BaseExceptionGroup):
            waiting += [("with ", inner) for inner in each.exceptions]
        if each.__cause__ is not None:
            waiting.append(("because of ", each.__cause__))
        elif each.__context__ is not None and not each.__suppress_context__:
            waiting.append(("while handling ", each.__context__))
