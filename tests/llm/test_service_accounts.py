"""The key of a service account: signed with, never sent, exchanged for tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apps.llm.chat import ChatClient
from apps.llm.errors import Unauthorized
from apps.llm.types import ChatRequest, Endpoint
from apps.simulator.app import create_app
from tests.google import PATH, Google, key_file
from tests.llm.conftest import PATIENT
from tests.serving import serving


@pytest.fixture
def google() -> Iterator[tuple[Google, str]]:
    """Google, and its address."""
    app = Google(create_app(speed=0))
    with serving(app, ws="none") as url:
        yield app, url


def at(url: str, key: str) -> Endpoint:
    """Return a model of Vertex AI."""
    return Endpoint("worker-a", f"{url}{PATH}", "sim-delta", key, PATIENT)


async def test_models_answer_for_a_token(client: ChatClient, google, question):
    app, url = google
    answer, _ = await client.complete(at(url, key_file(f"{url}/token")), question)
    assert answer.text
    assert app.faults == []


async def test_a_token_is_used_until_it_is_about_to_expire(
    client: ChatClient, google, question: ChatRequest
):
    app, url = google
    endpoint = at(url, key_file(f"{url}/token"))
    for _ in range(2):
        await client.complete(endpoint, question)
    assert app.tokens_given == 1
    other = at(url, key_file(f"{url}/token", project_id="another"))
    app.lasts_s = 60
    for _ in range(2):
        await client.complete(other, question)
    assert app.tokens_given == 3


async def test_streams_have_a_token_as_well(client: ChatClient, google, question):
    _, url = google
    endpoint = at(url, key_file(f"{url}/token"))
    items = [item async for item in client.stream(endpoint, question)]
    assert len(items) > 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"client_email": "else@example.org"}, "was refused where it gets its tokens"),
        ({"private_key_id": "another"}, "was refused where it gets its tokens"),
        ({"private_key": "canary-no-key"}, "is not the JSON key of a service account"),
        ({"private_key": None}, "is not the JSON key of a service account"),
        ({"token_uri": "ftp://127.0.0.1/token"}, "must be https"),
    ],
)
async def test_a_key_that_is_no_good_says_so_and_is_not_quoted(
    client: ChatClient, google, question, changes, why
):
    _, url = google
    key = key_file(f"{url}/token", **changes)
    with pytest.raises(Unauthorized) as caught:
        await client.complete(at(url, key), question)
    assert why in str(caught.value)
    assert "canary" not in str(caught.value)
    assert "PRIVATE KEY" not in str(caught.value)


async def test_text_that_only_begins_like_a_key_is_sent_nowhere(
    client: ChatClient, google, question
):
    app, url = google
    with pytest.raises(Unauthorized):
        await client.complete(at(url, "{canary"), question)
    assert app.tokens_given == 0
