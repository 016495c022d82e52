"""Google as Vertex AI needs it: signed requests for tokens, and models for a token."""

from __future__ import annotations

import base64
import time
from functools import cache
from typing import Any
from urllib.parse import parse_qs

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import (
    RSAPrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.clouds import Cloud

EMAIL = "conductor@example-project.iam.gserviceaccount.com"
KEY_ID = "key-0123456789"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
PATH = "/v1/projects/example-project/locations/global/endpoints/openapi"
MAX_CLOCK_SKEW_S = 300


@cache
def private_key() -> RSAPrivateKey:
    """Return the key of the service account; its public half is Google's."""
    return generate_private_key(public_exponent=65537, key_size=2048)


def key_file(token_url: str, **changes: Any) -> str:
    """Return the JSON key of the service account, as Google's console gives it."""
    pem = private_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    fields = {
        "type": "service_account",
        "project_id": "example-project",
        "private_key_id": KEY_ID,
        "private_key": pem.decode(),
        "client_email": EMAIL,
        "token_uri": token_url,
        **changes,
    }
    return orjson.dumps(fields, option=orjson.OPT_INDENT_2).decode()


class Google:
    """Gives tokens for signed requests at `/token`, and answers for these tokens."""

    def __init__(self, app: ASGIApp) -> None:
        self.cloud = Cloud(app, PATH)
        self.lasts_s = 3_600
        self.faults: list[str] = []
        """What was wrong with requests for tokens."""

    @property
    def tokens_given(self) -> int:
        """Return how many tokens were given so far."""
        return len(self.cloud.tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get("path") != "/token":
            await self.cloud(scope, receive, send)
            return
        request = Request(scope, receive)
        fault = _fault(await request.body(), str(request.url))
        if fault:
            self.faults.append(fault)
            response = JSONResponse({"error": "invalid_grant"}, 400)
        else:
            token = f"ya29.canary-{self.tokens_given}"
            self.cloud.tokens.add(token)
            response = JSONResponse(
                {
                    "access_token": token,
                    "expires_in": self.lasts_s,
                    "token_type": "Bearer",
                }
            )
        await response(scope, receive, send)


def _fault(body: bytes, url: str) -> str:
    """Say what is wrong with a request for a token; empty: nothing."""
    form = parse_qs(body.decode())
    if form.get("grant_type") != [GRANT]:
        return "grant_type"
    signed, _, signature = form["assertion"][0].rpartition(".")
    try:
        private_key().public_key().verify(
            _bytes(signature), signed.encode(), PKCS1v15(), SHA256()
        )
    except InvalidSignature:
        return "signature"
    header, claims = (orjson.loads(_bytes(part)) for part in signed.split("."))
    if header != {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}:
        return "header"
    wanted = {"iss": EMAIL, "scope": SCOPE, "aud": url}
    if any(claims[name] != value for name, value in wanted.items()):
        return "claims"
    is_now = abs(claims["iat"] - time.time()) < MAX_CLOCK_SKEW_S
    return "" if is_now and 0 < claims["exp"] - claims["iat"] <= 3_600 else "times"


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
