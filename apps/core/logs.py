"""Logs: one line for each record, as JSON or for people, with ids and without content.

Everything logs with the standard library, uvicorn and Celery too; here its records
become structlog's event dictionaries. `bind` notes ids for all records of the present
task or request.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from apps.core.redaction import (
    CONTENT_FIELDS,
    HIDDEN,
    SECRET_FIELDS,
    redact,
    told_exception,
    words_of,
)

NOTHING: Mapping[str, object] = {}
log_context: ContextVar[Mapping[str, object]] = ContextVar(
    "log_context", default=NOTHING
)
"""Ids that every record of this context carries. Set by `bind`, or at once where it
must be quick; never changed in place."""
JSON, TEXT = "json", "text"
_EXCEPTION_IN_TASK = re.compile(r"exception=.*", re.S)
"""asyncio prints whole exceptions into its messages."""


def bind(**ids: object) -> None:
    """Note ids for the records of this context from now on."""
    log_context.set({**log_context.get(), **ids})


class Formatter(structlog.stdlib.ProcessorFormatter):
    """Turns a record into a line."""

    def __init__(self, form: str = TEXT, hides: bool = True) -> None:
        """Form: json or text; `hides`: exceptions are not quoted if in doubt."""
        self._hides = hides
        processors: list[Processor] = [
            self.remove_processors_meta,
            self._tell_exception,
            _without_content,
            _on_one_line,
        ]
        if form == JSON:
            processors.append(structlog.processors.JSONRenderer())
        else:
            processors.append(
                structlog.dev.ConsoleRenderer(
                    colors=sys.stderr.isatty(), exception_formatter=_as_told
                )
            )
        super().__init__(processors=processors, foreign_pre_chain=SHARED)

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line."""
        safe = logging.makeLogRecord(record.__dict__)
        safe.args = self._safe_args(record)
        if record.name == "asyncio" and isinstance(record.msg, str):
            safe.msg = _EXCEPTION_IN_TASK.sub("exception=" + HIDDEN, record.msg)
        return super().format(safe)

    def _safe_args(self, record: logging.LogRecord) -> Any:
        if not isinstance(record.args, tuple):
            return record.args
        request = getattr(record, "request", None)
        path = getattr(request, "path", None)
        return tuple(
            words_of(arg, hides=self._hides)
            if isinstance(arg, BaseException)
            else _route(request)
            if path is not None and arg == path
            else arg
            for arg in record.args
        )

    def _tell_exception(
        self, logger: WrappedLogger, name: str, event: EventDict
    ) -> EventDict:
        info = event.pop("exc_info", None)
        exc = info[1] if isinstance(info, tuple) else info
        if exc is True:
            exc = sys.exc_info()[1]
        if isinstance(exc, BaseException):
            event["exception"] = told_exception(exc, hides=self._hides)
        return event


def logging_config(*, form: str, level: str, hides: bool) -> dict[str, Any]:
    """Return the settings of the standard library's logging."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": Formatter, "form": form, "hides": hides}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "line"}
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # Django's own handlers would print some records twice, and send mails.
            "django": {"handlers": [], "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            # Their lesser records hold statements' parameters and whole addresses.
            "django.db.backends": {"level": "INFO"},
            "httpx": {"level": "WARNING"},
            # Their copy outside of the database: no LOG_LEVEL may leave it out.
            "conductor.checkpoints": {"level": "INFO"},
        },
    }


def configure_logs() -> None:
    """Let Python's warnings and structlog's loggers end in the same handlers."""
    logging.captureWarnings(capture=True)
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _add_context(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    for key, value in log_context.get().items():
        text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
        event.setdefault(key, str(text))
    return event


def _without_content(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    for key, value in event.items():
        if key in SECRET_FIELDS or key in CONTENT_FIELDS:
            event[key] = HIDDEN
        elif isinstance(value, str):
            event[key] = redact(value)
        elif not isinstance(value, bool | int | float | None):
            event[key] = redact(str(value))
    return event


def _on_one_line(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    # Nobody may write a line of their own by way of a message.
    lines = str(event["event"]).rstrip().replace("\r", "")
    event["event"] = lines.replace("\n", "\\n")
    return event


def _as_told(sio: Any, exc_info: Any) -> None:
    """Print nothing: exceptions have become text by then."""


def _route(request: Any) -> str:
    """Return the pattern of a request's address: addresses can hold secrets."""
    match = getattr(request, "resolver_match", None)
    if match is not None:
        return f"/{match.route}"
    return f"/{request.path.lstrip('/').partition('/')[0]}/…"


SHARED: tuple[Processor, ...] = (
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _add_context,
)
