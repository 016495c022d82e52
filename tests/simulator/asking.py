"""Ways to ask the simulator, and to build the prompts its models know."""

from __future__ import annotations

import ast
import json
from typing import Any

import httpx

CHAT = "/v1/chat/completions"


def body(model: str, text: str, **options: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **options}


class Asker:
    """Asks one question of one model."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def response(self, model: str, text: str, **options: Any) -> httpx.Response:
        return await self.client.post(CHAT, json=body(model, text, **options))

    async def __call__(self, model: str, text: str, **options: Any) -> str:
        response = await self.response(model, text, **options)
        assert response.status_code == 200, response.text
        return str(response.json()["choices"][0]["message"]["content"])

    async def chunks(self, model: str, text: str, **options: Any) -> list[Any]:
        response = await self.response(model, text, stream=True, **options)
        assert response.status_code == 200, response.text
        return events(response.text)


def events(text: str) -> list[Any]:
    """Return the data of each event of a stream; the end marker as itself."""
    data = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
    return [item if item == "[DONE]" else json.loads(item) for item in data]


def joined(chunks: list[Any]) -> str:
    """Return the text the chunks of a stream add up to."""
    choices = (c["choices"][0] for c in chunks if c != "[DONE]" and c["choices"])
    return "".join(choice["delta"].get("content", "") for choice in choices)


def worker_message(
    question: str, subtask: str, earlier: tuple[tuple[str, str], ...] = ()
) -> str:
    """Return the message a worker gets; `earlier` holds subtasks and responses."""
    steps = [
        f'<subtask agent="{n}">\n{asked}\n</subtask>\n\n'
        f'<response agent="{n}">\n{said}\n</response>'
        for n, (asked, said) in enumerate(earlier)
    ]
    parts = ["You are one of several experts.", f"<question>\n{question}\n</question>"]
    own = f"<your-subtask>\n{subtask}\n</your-subtask>"
    return "\n\n".join([*parts, *steps, own])


def conductor_prompt(
    question: str, models: tuple[str, ...] = ("",) * 4, *more: str, max_steps: int = 5
) -> str:
    """Return a conductor prompt; `models` are descriptions, empty if anonymous."""
    lines = [f"Model {n}" + (f": {m}" if m else "") for n, m in enumerate(models)]
    return "\n\n".join(
        (
            f"A plan has from one to {max_steps} steps.",
            "<question>\nAn example: what is 1 + 1?\n</question>\n\n"
            "Available models:\nModel 0\nModel 1\nModel 2",
            "Available models:\n" + "\n".join(lines),
            f"<question>\n{question}\n</question>",
            *more,
            "Write the plan for the user's question now.",
        )
    )


def lists(text: str) -> tuple[list[int], list[str], list[Any]]:
    """Return the three lists at the end of a conductor's answer."""
    found = dict(line.split(" = ", 1) for line in text.splitlines() if " = [" in line)
    names = ("model_id", "subtasks", "access_list")
    models, subtasks, access = (ast.literal_eval(found[name]) for name in names)
    return models, subtasks, access
