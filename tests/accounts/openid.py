"""A small OpenID provider on this machine: description, tokens, keys, user info."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT_ID, CLIENT_SECRET = "conductor", "canary-client-secret"


@dataclass
class Provider:
    """What the provider says of the person who signs in there."""

    claims: dict[str, Any] = field(default_factory=dict)
    audience: str = CLIENT_ID
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    """Bodies of the calls for a token."""
    url: str = ""
    is_broken: bool = False

    def description(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "jwks_uri": f"{self.url}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def token(self, key: Any) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": self.audience,
            "iat": now,
            "exp": now + 300,
            **self.claims,
        }
        signed = jwt.encode(claims, key, algorithm="RS256", headers={"kid": "k1"})
        return {"access_token": "a-token", "token_type": "Bearer", "id_token": signed}


@contextmanager
def serving_provider() -> Iterator[Provider]:
    """Serve a provider; change what it says while it runs."""
    provider = Provider()
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_description = self.path.endswith("/openid-configuration")
            self.answer(provider.description() if is_description else provider.claims)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            provider.asked.append(parse_qs(body))
            self.answer(provider.token(key))

        def answer(self, values: dict[str, Any]) -> None:
            body = b"<html>" if provider.is_broken else json.dumps(values).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield provider
        server.shutdown()
        thread.join()
