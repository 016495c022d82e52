"""D10: images in the results of tools reach workers, over every protocol they speak."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.pools.models import Worker
from tests.conftest import Site
from tests.gateway.test_images import PNG

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}
CHAT = [
    {"role": "user", "content": "What does the camera see?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": [{"type": "image_url", "image_url": {"url": PNG}}],
    },
]
ITEMS = [
    {"role": "user", "content": "What does the camera see?"},
    {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
    {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_image", "image_url": PNG}],
    },
]
BODIES = [
    ("chat/completions", {"messages": CHAT}),
    ("responses", {"input": ITEMS}),
]


def ask(site: Site, path: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(
        f"{site.api_url}/{path}",
        headers={"Authorization": f"Bearer {site.key}"},
        json={"model": "worker/sim-delta", **body},
        timeout=30,
    )


@pytest.mark.parametrize("protocol", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize(("path", "body"), BODIES)
def test_d10_images_in_results_reach_a_worker_that_takes_images(
    site: Site, protocol: str, path: str, body: dict[str, Any]
) -> None:
    url = site.simulator_url
    Worker.objects.for_team(site.cast.team.id).update(
        accepts_images=True,
        protocol=protocol,
        base_url=url.replace("/v1", "/v1beta") if protocol == "gemini" else url,
    )
    answer = ask(site, path, body)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_d10_a_worker_without_eyes_is_not_asked(
    site: Site, path: str, body: dict[str, Any]
) -> None:
    Worker.objects.for_team(site.cast.team.id).update(accepts_images=False)
    answer = ask(site, path, body)
    assert answer.status_code == 400
    assert "images" in answer.json()["error"]["message"]
