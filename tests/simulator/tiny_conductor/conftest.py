"""A random model, what transformers computes with it, and a server that has it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.simulator.app import create_app
from apps.simulator.tiny_conductor.generation import LanguageModel
from apps.simulator.tiny_conductor.pack import packed
from apps.simulator.tiny_conductor.serving import TinyConductor
from tests.simulator.asking import Asker

HERE = Path(__file__).parent
FOLDER = HERE / "model"


@pytest.fixture(scope="session")
def reference() -> Any:
    return json.loads((HERE / "reference.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "weights.safetensors"
    path.write_bytes(packed(FOLDER))
    return path


@pytest.fixture(scope="session")
def model(weights: Path) -> LanguageModel:
    return LanguageModel.load(weights)


@pytest.fixture
def tiny(weights: Path) -> TinyConductor:
    return TinyConductor(weights)


@pytest.fixture
async def client(tiny: TinyConductor) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(speed=0, tiny_conductor=tiny)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as client:
        yield client


@pytest.fixture
def ask(client: httpx.AsyncClient) -> Asker:
    return Asker(client)
