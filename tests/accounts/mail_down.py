"""A mail server that cannot be reached."""

from __future__ import annotations

from typing import Any

from django.core.mail.backends.base import BaseEmailBackend


class EmailBackend(BaseEmailBackend):
    """Fails to send anything."""

    def send_messages(self, email_messages: Any) -> int:
        raise ConnectionError("the mail server is away")
