"""What the demo says of its models, by which clients trim and price conversations."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.playground.demo.preparation import demo_prepare
from tests.conftest import Site


@pytest.fixture
def listed(site: Site, settings: Any, tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The models that the demo's key may use, by name."""
    settings.VAR_DIR = tmp_path
    access = demo_prepare(url=site.url, simulator_url=site.simulator_url)
    headers = {"authorization": f"Bearer {access.api_key}"}
    answer = httpx.get(f"{site.api_url}/models", headers=headers)
    return {model["id"]: model for model in answer.json()["data"]}


def test_C11_each_model_of_the_demo_has_a_context_and_a_price(
    listed: dict[str, dict[str, Any]],
) -> None:
    assert {"conductor-mini", "conductor-ultra", "worker/bench-language"} <= set(listed)
    for name, model in listed.items():
        assert model["context_length"] >= 8_192, name
        assert model["top_provider"]["context_length"] == model["context_length"]
        assert Decimal(model["pricing"]["prompt"]) > 0, name
        assert Decimal(model["pricing"]["completion"]) >= 0, name


def test_C11_no_worker_of_a_tier_costs_more_than_the_tier_says(
    listed: dict[str, dict[str, Any]],
) -> None:
    workers = [m["pricing"] for name, m in listed.items() if "worker/bench-" in name]
    tier = listed["conductor-ultra"]["pricing"]
    for kind in ("prompt", "completion"):
        assert Decimal(tier[kind]) == max(Decimal(each[kind]) for each in workers)
