"""Examples for the demo: prompts with plans and answers that were written in advance.

What simulated workers compute is small. These show what a team would use the product
for: they are planned, run, streamed, priced and recorded like all else, and each answer
says that it was prepared.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from apps.simulator.suitability import Need

FOLDER = Path(__file__).parent
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class ExampleStep:
    """A step of an example's plan, and its answer."""

    need: Need
    subtask: str
    access: tuple[int, ...] | Literal["all"]
    text: str
    """In Markdown."""


@dataclass(frozen=True, slots=True)
class ExampleTurn:
    """A prompt with its plan."""

    prompt: str
    reasoning: str
    alone: Mapping[str, str]
    """What a worker answers without a plan, by its name; `others` is for all others."""
    steps: tuple[ExampleStep, ...]

    def answer_alone(self, worker: str) -> str:
        """Return the weaker answer that a worker gives without a plan."""
        return self.alone.get(worker, self.alone[OTHERS])

    def answer(self, subtask: str) -> str:
        """Return the answer to a subtask; to another one, that of the last step."""
        return next((s.text for s in self.steps if s.subtask == subtask), self.text)

    @property
    def text(self) -> str:
        """Return the answer to the prompt."""
        return self.steps[-1].text


@dataclass(frozen=True, slots=True)
class PreparedExample:
    """A conversation."""

    title: str
    turns: tuple[ExampleTurn, ...]


@cache
def examples() -> tuple[PreparedExample, ...]:
    """Return the examples, by the names of their files."""
    paths = sorted(FOLDER.glob("*.toml"))
    return tuple(_read(tomllib.loads(p.read_text(encoding="utf-8"))) for p in paths)


def prepared_turn(prompt: str) -> ExampleTurn | None:
    """Return the example whose prompt this is, if there is one."""
    return _by_prompt().get(_spaced(prompt))


@cache
def _by_prompt() -> Mapping[str, ExampleTurn]:
    return {_spaced(turn.prompt): turn for each in examples() for turn in each.turns}


def _spaced(prompt: str) -> str:
    return " ".join(prompt.split())


def _read(document: dict[str, Any]) -> PreparedExample:
    return PreparedExample(document["title"], tuple(map(_turn, document["turns"])))


def _turn(turn: dict[str, Any]) -> ExampleTurn:
    alone = {name: text.strip() for name, text in turn["alone"].items()}
    return ExampleTurn(
        turn["prompt"], turn["reasoning"], alone, tuple(map(_step, turn["steps"]))
    )


def _step(step: dict[str, Any]) -> ExampleStep:
    access = step["access"]
    return ExampleStep(
        Need(step["need"]),
        step["subtask"],
        "all" if access == "all" else tuple(access),
        step["text"].strip(),
    )
