"""The weights that ship: their size, their digest, and that they are a conductor's."""

from __future__ import annotations

import hashlib

from apps.planners.list_plan_parser import parse_lists
from apps.simulator.request import ChatMessage, SimulatedRequest
from apps.simulator.tiny_conductor.generation import Generation, LanguageModel
from apps.simulator.tiny_conductor.pack import MAX_BYTES
from apps.simulator.tiny_conductor.serving import SHIPPED
from bench.figures import kept
from tests.docs.reading import ROOT

PROMPT = """\
Model 0: price9 solve8 guided5 check2 plan4
Model 1: price3 solve6 guided6 check0 plan6
Model 2: price2 solve2 guided3 check3 plan7
Model 3: price1 solve9 guided9 check1 plan7
Steps: at most 5

The user's question:
<question>
Calculate (99 + 58) * 5.
</question>

Write the plan for the user's question now."""


def test_file_is_small_and_the_one_that_the_page_tells_of() -> None:
    data = SHIPPED.read_bytes()
    assert len(data) <= MAX_BYTES
    page = (ROOT / "docs/training.md").read_text("utf-8")
    assert hashlib.sha256(data).hexdigest() in page


def test_kept_figures_are_those_of_the_file() -> None:
    figures = kept("tiny_conductor")
    assert figures is not None
    assert figures["weights"] == hashlib.sha256(SHIPPED.read_bytes()).hexdigest()


def test_it_writes_a_plan_and_ends() -> None:
    asked = SimulatedRequest("", (ChatMessage("user", PROMPT),), max_tokens=256)
    generation = Generation(LanguageModel.load(SHIPPED), asked)
    while not generation.is_done:
        generation.step()
    assert generation.reply.finish_reason == "stop"
    plan = parse_lists(generation.reply.text, ("a", "b", "c", "d"))
    assert plan is not None
    assert plan.steps
