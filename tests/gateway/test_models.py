"""The list of models."""

from __future__ import annotations

import pytest
from openai.types import Model

from tests.gateway.conftest import Client
from tests.gateway.fakes import MODELS, holder


async def test_all_names_are_listed(client: Client) -> None:
    listed = (await client.ask("GET", "/v1/models")).json
    models = [Model.model_validate(item, strict=True) for item in listed["data"]]
    assert listed["object"] == "list"
    assert tuple(model.id for model in models) == MODELS


async def test_workers_are_listed_for_keys_that_may_call_them(client: Client) -> None:
    client.backend.caller = holder("runs:create")
    listed = (await client.ask("GET", "/v1/models")).json["data"]
    assert not any(item["id"].startswith("worker/") for item in listed)


@pytest.mark.parametrize("name", MODELS)
async def test_each_name_leads_to_its_model(client: Client, name: str) -> None:
    assert (await client.ask("GET", f"/v1/models/{name}")).json["id"] == name


@pytest.mark.parametrize("name", ["other", "lab", "conductor-mini/", "a\x00b"])
async def test_unknown_name_is_not_found(client: Client, name: str) -> None:
    answer = await client.ask("GET", f"/v1/models/{name}")
    assert (answer.status, answer.error["code"]) == (404, "model_not_found")


async def test_head_has_no_body(client: Client) -> None:
    answer = await client.ask("HEAD", "/v1/models")
    assert (answer.status, answer.body) == (200, b"")


async def test_stranger_learns_no_names(client: Client) -> None:
    assert (await client.ask("GET", "/v1/models", key=None)).status == 401
