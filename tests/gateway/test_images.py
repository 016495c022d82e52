"""Images as parts of the user's messages."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from tests.gateway.conftest import Client
from tests.gateway.fakes import completed

FILES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\x00" * 20,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\x00" * 20,
    "image/gif": b"GIF89a" + b"\x00" * 20,
    "image/webp": b"RIFF\x10\x00\x00\x00WEBP" + b"\x00" * 20,
}
ADDRESS = "https://pictures.example/cat.png?size=2"


def data_url(kind: str, content: bytes) -> str:
    """Return a URL that holds a file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


PNG = data_url("image/png", FILES["image/png"])


def image(url: Any, **more: Any) -> dict[str, Any]:
    """Return a part."""
    return {"type": "image_url", "image_url": {"url": url, **more}}


def look(*parts: Any) -> list[dict[str, Any]]:
    """Return one message of the user."""
    text = {"type": "text", "text": "What is this?"}
    return [{"role": "user", "content": [text, *parts]}]


@pytest.mark.parametrize(
    "url", [ADDRESS, *(data_url(kind, file) for kind, file in FILES.items())]
)
async def test_image_reaches_the_order_unchanged(client: Client, url: str) -> None:
    client.run.plays(completed())
    parts = look(image(url, detail="low"))
    assert (await client.chat(messages=parts)).status == 200
    (order,) = client.backend.orders
    assert order.messages == tuple(parts)
    assert order.prompt == "What is this? [image 1]"


async def test_image_without_words_is_a_question(client: Client) -> None:
    client.run.plays(completed())
    messages = [{"role": "user", "content": [image(PNG)]}]
    assert (await client.chat(messages=messages)).status == 200
    assert client.backend.orders[0].prompt == "[image 1]"


async def test_parts_of_text_alone_become_one_text(client: Client) -> None:
    client.run.plays(completed())
    await client.chat(messages=look({"type": "text", "text": " Well?"}))
    (order,) = client.backend.orders
    assert (order.prompt, order.messages) == ("What is this? Well?", ())


BAD_URLS: list[Any] = [
    None,
    "",
    7,
    "http://pictures.example/cat.png",
    "https://",
    "ftp://pictures.example/cat.png",
    "file:///etc/passwd",
    "https://pictures.example/" + "x" * 2000,
    "https://pictures.example/cät.png",
    "https://pictures.example/\n",
    "data:,",
    "data:image/png;base64",
    "data:image/png," + "A" * 40,
    data_url("image/svg+xml", b"<svg/>"),
    data_url("text/html", b"<script>"),
    data_url("image/png", FILES["image/jpeg"]),
    data_url("image/webp", b"RIFF\x10\x00\x00\x00WAVE"),
    PNG[:-1],
    PNG + "!",
    PNG.replace("base64,", "base64,\n"),
    "data:image/png;base64,",
]


@pytest.mark.parametrize("url", BAD_URLS, ids=lambda url: repr(url)[:40])
async def test_bad_image_is_named(client: Client, url: Any) -> None:
    answer = await client.chat(messages=look(image(url)))
    place = "messages[0].content[1].image_url.url"
    assert (answer.status, answer.error["param"]) == (400, place)
    assert client.backend.orders == []


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ({"type": "image_url"}, "messages[0].content[1].image_url"),
        (
            {"type": "image_url", "image_url": PNG},
            "messages[0].content[1].image_url",
        ),
        (image(PNG, detail="huge"), "messages[0].content[1].image_url.url"),
        ({"type": "file", "file": {}}, "messages[0].content[1]"),
    ],
)
async def test_bad_part_is_named(client: Client, part: Any, place: str) -> None:
    answer = await client.chat(messages=look(part))
    assert (answer.status, answer.error["param"]) == (400, place)


@pytest.mark.parametrize("role", ["system", "assistant"])
async def test_only_the_user_and_tools_send_images(client: Client, role: str) -> None:
    other = {"role": role, "content": [image(PNG)], "tool_call_id": "x"}
    answer = await client.chat(messages=[*look(), other])
    assert answer.error["param"] == "messages[1].content[0]"
    assert "only the user" in answer.error["message"]


async def test_images_are_counted(client: Client, settings: Settings) -> None:
    settings.MAX_IMAGES = 2
    client.run.plays(completed())
    answer = await client.chat(messages=look(*[image(ADDRESS)] * 3))
    assert (answer.status, answer.error["param"]) == (400, "messages")
    assert (await client.chat(messages=look(*[image(ADDRESS)] * 2))).status == 200


async def test_images_are_weighed(client: Client, settings: Settings) -> None:
    settings.MAX_IMAGE_BYTES = len(FILES["image/png"])
    client.run.plays(completed())
    heavy = data_url("image/png", FILES["image/png"] + b"\x00" * 9)
    answer = await client.chat(messages=look(image(heavy)))
    assert "at most 28" in answer.error["message"]
    assert (await client.chat(messages=look(image(PNG)))).status == 200


async def test_images_are_no_text(client: Client, settings: Settings) -> None:
    settings.MAX_PROMPT_BYTES = 40
    client.run.plays(completed())
    assert (await client.chat(messages=look(image(PNG)))).status == 200
