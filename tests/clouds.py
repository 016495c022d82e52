"""Azure OpenAI and Amazon Bedrock as they look from here: a path, and a bearer key."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

AZURE_PATH = BEDROCK_PATH = "/openai/v1"


class Cloud:
    """Simulated models below a cloud's own path, for a bearer token that it knows.

    Only what the real ones serve there: chat completions, no list of models, and no
    `api-version`.
    """

    def __init__(self, app: ASGIApp, path: str, *tokens: str) -> None:
        self.app = app
        self.path = path
        self.tokens = {*tokens}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif fault := self._fault(scope):
            status, code = fault
            body = {"error": {"code": code, "message": f"refused: {code}"}}
            await JSONResponse(body, status)(scope, receive, send)
        else:
            path = "/v1/chat/completions"
            inner = {**scope, "path": path, "raw_path": path.encode()}
            # The simulator behind it has no keys of its own.
            await self.app(inner, receive, send)

    def _fault(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, Any] = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").decode().partition(" ")
        if scheme != "Bearer" or token not in self.tokens:
            return 401, "unauthorized"
        if scope["path"] != f"{self.path}/chat/completions" or scope["query_string"]:
            return 404, "not_found"
        return None
