"""What answers show of a model's abilities, and what says nothing about them."""

from __future__ import annotations

import base64

import pytest

from apps.llm.chat import ChatClient
from apps.llm.http import open_transport
from apps.llm.types import Endpoint, Timeouts
from apps.pools.capability_probes import PROBES, ProbeAnswer, abilities_shown
from apps.simulator import pictures

CALL = '{"number": 42}'


def answer(
    text: str = "", *, tools: tuple[str, ...] = (), arguments: str = ""
) -> ProbeAnswer:
    return ProbeAnswer(text, tools, arguments, "stop", "m")


@pytest.mark.parametrize(
    ("ability", "given", "shown"),
    [
        ("accepts_images", answer("1"), True),
        ("accepts_images", answer("There is **one** image."), True),
        ("accepts_images", answer("0"), False),
        ("accepts_images", answer("I see no images here."), False),
        ("accepts_tools", answer(tools=("note_number",), arguments=CALL), True),
        ("accepts_tools", answer("note_number(42)"), False),
        ("accepts_tools", answer(tools=("other",), arguments=CALL), False),
        ("accepts_tools", answer(tools=("note_number",), arguments="{"), False),
        ("accepts_tools", answer(tools=("note_number",) * 2, arguments=CALL), False),
        ("accepts_prefill", answer(" DELTA ECHO FOXTROT**"), True),
        ("accepts_prefill", answer("**ALPHA BRAVO CHARLIE DELTA**"), False),
        ("accepts_prefill", answer(), False),
    ],
)
def test_answer_shows_an_ability_or_its_lack(
    ability: str, given: ProbeAnswer, shown: bool
):
    assert PROBES[ability].shows(given) is shown


def test_image_that_is_sent_is_one():
    (message,) = PROBES["accepts_images"].request.messages
    url = message["content"][1]["image_url"]["url"]
    picture = pictures.from_url(url)
    assert (picture.media_type, pictures.size(picture.data)) == ("image/png", (64, 64))
    assert len(base64.b64encode(picture.data)) < 400


async def shown_by(simulator_url: str, model: str) -> dict[str, bool]:
    endpoint = Endpoint(
        "m", simulator_url, model, timeouts=Timeouts(first_byte_s=0.3, total_s=2)
    )
    async with open_transport(allowed_networks=["127.0.0.0/8"]) as transport:
        return await abilities_shown(ChatClient(transport), endpoint, PROBES)


async def test_refusal_means_no(simulator_url: str):
    found = await shown_by(simulator_url, "fault-400")
    assert found == dict.fromkeys(PROBES, False)


@pytest.mark.parametrize("model", ["fault-500", "fault-429", "fault-cut", "fault-401"])
async def test_other_faults_say_nothing(simulator_url: str, model: str):
    assert await shown_by(simulator_url, model) == {}


def test_model_that_thought_until_it_had_to_stop_says_nothing():
    assert ProbeAnswer("", (), "", "length", "m").is_blank
    assert not ProbeAnswer("1", (), "", "length", "m").is_blank
    assert not ProbeAnswer("", (), "", "stop", "m").is_blank


async def test_model_without_eyes_is_found_out(simulator_url: str):
    found = await shown_by(simulator_url, "text-only")
    assert found["accepts_images"] is False
