"""Errors that reach people and programs. Each interface translates them once.

Messages are one sentence, name the thing with `!r`, and never hold a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import ClassVar


class ConductorError(Exception):
    """Base of every error the product reports on purpose."""

    code: ClassVar[str] = "internal_error"
    """Stable word for programs."""
    http_status: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        """The input field at fault, if one is."""
        self.retry_after_s = retry_after_s


class InvalidInput(ConductorError):
    """The request itself is wrong; the same request will never succeed."""

    code = "invalid_request_error"
    http_status = 400


MAX_FAULTS = 50
"""Wrong fields that one answer names."""


class InvalidFields(InvalidInput):
    """One or more fields are wrong; each has messages of its own, for forms.

    The first `MAX_FAULTS` are named.
    """

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        """Take messages by field; `workers[2].price.input` names a nested one."""
        first = next(iter(fields))
        named = islice(fields.items(), MAX_FAULTS)
        self.fields = {name: list(messages) for name, messages in named}
        super().__init__(f"{first}: {self.fields[first][0]}", param=first)


class PayloadTooLarge(InvalidInput):
    """The request body is larger than the settings allow."""

    code = "payload_too_large"
    http_status = 413


class PromptTooLong(InvalidInput):
    """More text than the settings allow, or than any model asked could read."""

    code = "context_length_exceeded"


class Conflict(ConductorError):
    """It cannot be done now: something else holds on to it."""

    code = "conflict"
    http_status = 409


class VersionConflict(ConductorError):
    """It was changed since the client read it."""

    code = "version_conflict"
    http_status = 412


class NotAuthenticated(ConductorError):
    """Not authenticated."""

    code = "invalid_api_key"
    http_status = 401


class NotAllowed(ConductorError):
    """The principal does not have the role or scope."""

    code = "permission_denied"
    http_status = 403


class NotFound(ConductorError):
    """The team has no such thing."""

    code = "not_found"
    http_status = 404


class Overloaded(ConductorError):
    """The process has all the work it can take; come back later."""

    code = "overloaded"
    http_status = 503


class SecretUnreadable(ConductorError):
    """A stored secret cannot be decrypted with the keys in the settings."""

    code = "secret_unreadable"
