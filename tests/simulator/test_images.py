"""Images that are really read: types, sizes, and what is no image."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

import pytest

from apps.simulator.pictures import size
from tests.simulator.asking import Asker

PNG = (
    b"\x89PNG\r\n\x1a\n"
    + struct.pack(">I", 13)
    + b"IHDR"
    + struct.pack(">IIBBBBB", 640, 480, 8, 2, 0, 0, 0)
)
GIF = b"GIF89a" + struct.pack("<HH", 12, 34)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x04\x00\x00"
    + b"\xff\xc2\x00\x0b\x08"
    + struct.pack(">HH", 100, 200)
    + b"\x01"
)
WEBP_EXTENDED = (
    b"RIFF\x00\x00\x00\x00WEBPVP8X"
    + bytes(8)
    + (319).to_bytes(3, "little")
    + (239).to_bytes(3, "little")
)
WEBP_LOSSLESS = (
    b"RIFF\x00\x00\x00\x00WEBPVP8L"
    + bytes(4)
    + b"\x2f"
    + (31 | 63 << 14).to_bytes(4, "little")
    + bytes(5)
)
WEBP_LOSSY = b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(10) + struct.pack("<HH", 75, 50)


def image(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return part(f"data:{media_type};base64,{encoded}")


def part(url: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def content(text: str, *images: dict[str, Any]) -> Any:
    return [{"type": "text", "text": text}, *images]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (PNG, (640, 480)),
        (GIF, (12, 34)),
        (JPEG, (200, 100)),
        (WEBP_EXTENDED, (320, 240)),
        (WEBP_LOSSLESS, (32, 64)),
        (WEBP_LOSSY, (75, 50)),
        (b"RIFF\x00\x00\x00\x00WEBPVP8?" + bytes(20), None),
        (b"\xff\xd8\xff", None),
        (b"nothing", None),
    ],
)
def test_size_is_read_from_the_header(
    data: bytes, expected: tuple[int, int] | None
) -> None:
    assert size(data) == expected


async def test_worker_describes_every_image(ask: Asker) -> None:
    images = image(PNG), part("https://example.org/a.png"), image(b"??", "image/webp")
    answer = await ask("sim-atlas", content("What is in these images?", *images))
    digest = hashlib.sha256(PNG).hexdigest()[:12]
    assert answer.startswith("**3 images**")
    assert (
        f"1. image/png, {len(PNG)} bytes, 640 × 480 pixels, sha256 {digest}" in answer
    )
    assert "2. at https://example.org/a.png" in answer
    assert "3. image/webp, 2 bytes, size not readable" in answer


async def test_question_about_something_else_is_answered(ask: Asker) -> None:
    answer = await ask("sim-atlas", content("What is 6*7?", image(PNG)))
    assert answer.startswith("**42**")


async def test_image_counts_as_input(ask: Asker) -> None:
    response = await ask.response("echo", content("hi", image(PNG)))
    assert response.json()["usage"]["prompt_tokens"] > 1000


@pytest.mark.parametrize(
    "url",
    [
        "data:image/png,abc",
        "data:image/png;base64,***",
        "data:image/png;base64,",
        "data:image/tiff;base64,AAAA",
        None,
    ],
)
async def test_what_is_no_image_is_refused(ask: Asker, url: str | None) -> None:
    response = await ask.response("echo", content("hi", part(url)))
    assert response.status_code == 400
    param = response.json()["error"]["param"]
    assert param == "messages[0].content[1].image_url.url"


async def test_part_of_another_kind_is_refused(ask: Asker) -> None:
    sound: Any = content("hi", {"type": "input_audio"})
    response = await ask.response("echo", sound)
    assert response.json()["error"]["param"] == "messages[0].content[1].type"


async def test_model_without_eyes_refuses_images(ask: Asker) -> None:
    response = await ask.response("text-only", content("Describe it", image(PNG)))
    assert response.status_code == 400
    assert "image" in response.json()["error"]["message"]
