"""API clients for tests: many at once, and what each of them got."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tests.conftest import Site
from tests.patience import PATIENCE_S

Question = tuple[str, str, dict[str, Any]]
"""A name for the test's report, the model at fault, fields of the request."""


@dataclass(frozen=True)
class Said:
    """What a client got."""

    name: str
    fault: str
    is_streamed: bool
    status: int
    run_id: str
    text: str

    @property
    def chunks(self) -> list[dict[str, Any]]:
        lines = [
            line.removeprefix("data: ")
            for line in self.text.splitlines()
            if line.startswith("data: ")
        ]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    @property
    def error(self) -> dict[str, Any] | None:
        if not self.is_streamed or self.status != 200:
            found: dict[str, Any] | None = json.loads(self.text).get("error")
            return found
        return next((c["error"] for c in self.chunks if "error" in c), None)

    @property
    def answer(self) -> str:
        return self._said("content")

    @property
    def refusal(self) -> str:
        return self._said("refusal")

    def _said(self, field: str) -> str:
        if not self.is_streamed:
            message = json.loads(self.text)["choices"][0]["message"]
            return message[field] or ""
        return "".join(
            choice["delta"].get(field) or ""
            for chunk in self.chunks
            for choice in chunk.get("choices", ())
        )

    @property
    def usage(self) -> dict[str, Any]:
        if not self.is_streamed:
            found: dict[str, Any] = json.loads(self.text)["usage"]
            return found
        return next(c["usage"] for c in reversed(self.chunks) if c.get("usage"))


def ask_all(
    site: Site, questions: Sequence[Question], patience_s: float = PATIENCE_S
) -> list[Said]:
    """Ask all questions at once. The last answer comes within `patience_s`."""

    async def ask(
        client: httpx.AsyncClient, name: str, fault: str, fields: Any
    ) -> Said:
        async with asyncio.timeout(patience_s):
            answer = await client.post("/chat/completions", json=fields)
        run_id = answer.headers.get("x-conductor-run-id", "")
        is_streamed = bool(fields.get("stream"))
        return Said(name, fault, is_streamed, answer.status_code, run_id, answer.text)

    async def gather() -> list[Said]:
        async with httpx.AsyncClient(
            base_url=site.api_url,
            headers={"Authorization": f"Bearer {site.key}"},
            timeout=patience_s,
            limits=httpx.Limits(max_connections=None),
        ) as client:
            return await asyncio.gather(*(ask(client, *q) for q in questions))

    return asyncio.run(gather())


def request(model: str, content: str, *, is_streamed: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": content}],
    }
    if is_streamed:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body
