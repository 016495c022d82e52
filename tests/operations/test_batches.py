"""A batch whose process is killed in the middle of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.simulator.app import create_app
from tests.patience import awaited
from tests.processes.site import Home
from tests.serving import serving

pytestmark = pytest.mark.slow

CHAT = "/v1/chat/completions"
REQUESTS = 12


def test_half_done_batch_survives_kill_9_and_asks_nothing_twice(tmp_path: Path) -> None:
    with serving(create_app(speed=1), ws="none") as models:
        home = Home(tmp_path, f"{models}/v1", BATCH_PARALLEL_RUNS="3")
        with home.serving() as process, home.client(process.url) as client:
            batch = _start(client)
            _until(client, batch, lambda b: b["request_counts"]["completed"] >= 2)
            process.kill()
        with home.serving() as process, home.client(process.url) as client:
            batch = _until(client, batch, lambda b: b["status"] == "completed")
            answers = _lines(client, batch["output_file_id"])
            counted = Counter(line["custom_id"] for line in answers)
            assert counted == {f"q{n}": 1 for n in range(REQUESTS)}
            assert batch["request_counts"]["total"] == REQUESTS
            assert batch["error_file_id"] is None
            runs = {line["response"]["body"]["conductor"]["run_id"] for line in answers}
            assert len(runs) == REQUESTS
            assert _count_of_runs(client) == REQUESTS


def _start(client: httpx.Client) -> dict[str, Any]:
    lines = [
        {
            "custom_id": f"q{n}",
            "method": "POST",
            "url": CHAT,
            "body": {
                "model": "worker/delay-1000",
                "messages": [{"role": "user", "content": f"What is {n} + 4?"}],
            },
        }
        for n in range(REQUESTS)
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    file = client.post(
        "/v1/files",
        data={"purpose": "batch"},
        files={"file": ("requests.jsonl", content)},
    ).json()
    wanted = {"input_file_id": file["id"], "endpoint": CHAT, "completion_window": "24h"}
    batch: dict[str, Any] = client.post("/v1/batches", json=wanted).json()
    return batch


def _until(client: httpx.Client, batch: dict[str, Any], is_so: Any) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = client.get(f"/v1/batches/{batch['id']}").json()
        return found if is_so(found) else None

    return awaited(look)


def _lines(client: httpx.Client, file_id: str) -> list[dict[str, Any]]:
    text = client.get(f"/v1/files/{file_id}/content").text
    return [json.loads(line) for line in text.splitlines()]


def _count_of_runs(client: httpx.Client) -> int:
    return len(client.get("/api/v1/runs/?limit=100").json()["data"])
