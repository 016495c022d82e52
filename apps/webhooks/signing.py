"""Secrets of webhooks, and signatures as Standard Webhooks defines them.

A message is signed with HMAC-SHA256 over `id.timestamp.body`. Source: the Standard
Webhooks specification, version 1, symmetric signatures.
"""

from __future__ import annotations

import hmac
import os
from base64 import b64decode, b64encode
from hashlib import sha256

from django.utils import timezone

from apps.core.keyring import seal, unseal
from apps.webhooks.models import Webhook

SECRET_PREFIX = "whsec_"  # nosec B105: tells secrets from other texts
SECRET_BYTES = 32


def secret_new() -> str:
    """Return a new secret as people store it."""
    return SECRET_PREFIX + b64encode(os.urandom(SECRET_BYTES)).decode()


def value_seal(webhook: Webhook, value: str) -> bytes:
    """Return a secret of a webhook, encrypted and bound to it."""
    return seal(value.encode(), context=_context(webhook))


def value_open(webhook: Webhook, sealed: bytes | memoryview) -> str:
    """Return a secret of a webhook. Raises: SecretUnreadable."""
    return unseal(bytes(sealed), context=_context(webhook)).decode()


def signature_header(webhook: Webhook, message_id: str, stamp: int, body: bytes) -> str:
    """Return `webhook-signature`: one for each secret that is valid now.

    `stamp` is the time of the attempt in seconds since 1970. Raises: SecretUnreadable.
    """
    secrets = [webhook.secret]
    end = webhook.previous_until
    if webhook.previous_secret and end is not None and end > timezone.now():
        secrets.append(webhook.previous_secret)
    signed = f"{message_id}.{stamp}.".encode() + body
    return " ".join(_signature(value_open(webhook, each), signed) for each in secrets)


def _signature(secret: str, signed: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    return "v1," + b64encode(hmac.new(key, signed, sha256).digest()).decode()


def _context(webhook: Webhook) -> bytes:
    return b"webhook:" + webhook.team_id.bytes + webhook.id.bytes
