"""Ledger entries as syslog messages. Sources: RFC 5424; for frames RFC 5425."""

from __future__ import annotations

from urllib.parse import urlsplit

import orjson
from django.conf import settings

from apps.audit.models import Entry

LOG_AUDIT = 13
"""The facility. Source: RFC 5424, table 1."""
INFORMATIONAL, WARNING = 6, 4
"""Severities. Source: RFC 5424, table 2."""
APP_NAME = "conductor"
MAX_SEQUENCE_ID = 2**31 - 1
"""Source: RFC 5424, section 7.3.1."""
MAX_MSGID, MAX_HOSTNAME = 32, 255


def syslog_frame(entry: Entry, line: bytes) -> bytes:
    """Return an entry as one message with its length before it.

    `line`: the entry as JSON, which is the text of the message as it stands.
    """
    outcome = orjson.loads(bytes(entry.canonical))["outcome"]
    severity = INFORMATIONAL if outcome == "success" else WARNING
    stamp = f"{entry.recorded_at:%Y-%m-%dT%H:%M:%S.%fZ}"
    sequence_id = (entry.seq - 1) % MAX_SEQUENCE_ID + 1
    header = (
        f"<{8 * LOG_AUDIT + severity}>1 {stamp} {_hostname()} {APP_NAME} - "
        f'{entry.action[:MAX_MSGID]} [meta sequenceId="{sequence_id}"] '
    )
    message = header.encode("ascii") + line.rstrip(b"\n")
    return b"%d %b" % (len(message), message)


def _hostname() -> str:
    host = urlsplit(settings.CONDUCTOR_URL).hostname or "-"
    return host.encode("ascii", "ignore").decode()[:MAX_HOSTNAME] or "-"
