"""Turns the key of a Google service account into a token, as RFC 7523 describes it.

The key itself is sent nowhere: it signs a request for a token, which is kept in this
process until shortly before it expires. Neither is ever in a message.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from apps.llm.errors import BadResponse, Unauthorized
from apps.llm.http import HeaderPairs, HttpTransport, Post
from apps.llm.http_common import USER_AGENT, expect_success
from apps.llm.types import Endpoint

GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
MAX_TOKEN_S = 3_600
"""Google gives none for longer."""
SPARE_S = 120
"""A token that expires so soon might do so before the call is through."""
MAX_TOKENS_KEPT = 1_000
MAX_REPLY_BYTES = 65_536
MAX_TOKEN_CHARACTERS = 8_192
REFUSALS = (400, 401, 403)
HEADERS: HeaderPairs = (
    ("content-type", "application/x-www-form-urlencoded"),
    ("accept", "application/json"),
    ("accept-encoding", "identity"),
    ("user-agent", USER_AGENT),
)
_tokens: dict[str, tuple[str, float]] = {}
"""Tokens, and when they are fetched anew, by the digest of the key."""


@dataclass(frozen=True, slots=True)
class _Account:
    """What a key of a service account says."""

    email: str
    key_id: str
    token_url: str
    private_key: RSAPrivateKey


async def authorised(transport: HttpTransport, endpoint: Endpoint) -> Endpoint:
    """Return an endpoint with a token in place of the key of a service account.

    Any other key is left as it is. Raises: LlmError.
    """
    key = endpoint.api_key or ""
    if not key.lstrip().startswith("{"):
        return endpoint
    digest = hashlib.sha256(key.encode()).hexdigest()
    token, renewed_at = _tokens.get(digest, ("", 0.0))
    if time.time() >= renewed_at:
        token, lasts_s = await _fetch(transport, endpoint, key)
        _keep(digest, token, time.time() + lasts_s - SPARE_S)
    return replace(endpoint, api_key=token)


def _keep(digest: str, token: str, renewed_at: float) -> None:
    if len(_tokens) >= MAX_TOKENS_KEPT:
        _tokens.pop(next(iter(_tokens)))
    _tokens[digest] = token, renewed_at


async def _fetch(
    transport: HttpTransport, endpoint: Endpoint, key: str
) -> tuple[str, int]:
    """Return a token and for how long it holds, in seconds. Raises: LlmError."""
    # In a thread: checking and using a private key takes many milliseconds.
    post = await asyncio.to_thread(_request, endpoint, key)
    async with await transport.post(post) as reply:
        if reply.status in REFUSALS:
            raise Unauthorized(
                f"{endpoint.name!r}: the key of the service account was refused where "
                f"it gets its tokens, with status {reply.status}"
            )
        await expect_success(endpoint, reply)
        body = await reply.read_body(MAX_REPLY_BYTES)
    return _read(endpoint, body)


def _request(endpoint: Endpoint, key: str) -> Post:
    """Return the request for a token. Raises: Unauthorized."""
    account = _account(endpoint, key)
    form = {"grant_type": GRANT, "assertion": _assertion(account)}
    return Post(
        name=endpoint.name,
        url=account.token_url,
        headers=HEADERS,
        body=urlencode(form).encode(),
        timeouts=endpoint.timeouts,
    )


def _account(endpoint: Endpoint, key: str) -> _Account:
    try:
        fields = orjson.loads(key)
        pem = str(fields["private_key"]).encode()
        account = _Account(
            email=str(fields["client_email"]),
            key_id=str(fields.get("private_key_id", "")),
            token_url=str(fields["token_uri"]),
            private_key=_rsa_key(pem),
        )
        scheme = urlsplit(account.token_url).scheme
    except (ValueError, LookupError, TypeError, AttributeError, UnsupportedAlgorithm):
        account, scheme = None, ""
    # Raised out here: the original error may quote the key.
    if account is None:
        raise Unauthorized(
            f"{endpoint.name!r}: the key is not the JSON key of a service account"
        )
    if scheme != "https" and scheme != urlsplit(endpoint.base_url).scheme:
        raise Unauthorized(
            f"{endpoint.name!r}: the token_uri of the service account must be https"
        )
    return account


def _rsa_key(pem: bytes) -> RSAPrivateKey:
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, RSAPrivateKey):
        raise TypeError("expected an RSA key")
    return key


def _assertion(account: _Account) -> str:
    """Return a signed statement of who asks, for what and until when."""
    now = int(time.time())
    header = {"alg": "RS256", "typ": "JWT", "kid": account.key_id}
    claims = {
        "iss": account.email,
        "scope": SCOPE,
        "aud": account.token_url,
        "iat": now,
        "exp": now + MAX_TOKEN_S,
    }
    signed = f"{_encoded(header)}.{_encoded(claims)}"
    signature = account.private_key.sign(signed.encode(), PKCS1v15(), SHA256())
    return f"{signed}.{_base64(signature)}"


def _encoded(part: Mapping[str, Any]) -> str:
    return _base64(orjson.dumps(part))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _read(endpoint: Endpoint, body: bytes) -> tuple[str, int]:
    try:
        fields = orjson.loads(body)
        token, lasts_s = fields["access_token"], int(fields["expires_in"])
        is_token = isinstance(token, str) and 0 < len(token) <= MAX_TOKEN_CHARACTERS
    except (ValueError, LookupError, TypeError):
        is_token = False
    if not is_token:
        raise BadResponse(f"{endpoint.name!r}: no token for the service account")
    return token, min(lasts_s, MAX_TOKEN_S)
