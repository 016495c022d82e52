"""What a trainer and the site say to each other, one JSON object a line. Pure.

The trainer writes `TrainerProgress`, `Rollouts` and, as its last line, `Ended`; the
site writes `Rewards`, one for each `Rollouts`, and `Stop`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from apps.training.conductor.training_folder import TrainerStage

FIGURES = ("loss", "tokens", "reward", "entropy", "length", "missing", "learning_rate")
"""What a `TrainerProgress` can have figures of; a step has those of its stage.

loss: nats a token (sft), or the clipped objective with its sign changed (grpo).
tokens: read in this step. reward: mean of those that are not missing. entropy: nats a
token. length: mean tokens of a completion. missing: share of rewards that are null.
"""


class ProtocolError(ValueError):
    """A line is none of those that were agreed upon."""


class Ending(StrEnum):
    """Why a training ended."""

    COMPLETED = "completed"
    COLLAPSED = "collapsed"
    """It got worse, or stopped to explore; the model is as it was then."""
    STOPPED = "stopped"
    """By `Stop`; started again on the same folder, it goes on."""
    FAILED = "failed"
    """By an error that the message names; started again, it goes on."""


@dataclass(frozen=True, slots=True)
class TrainerProgress:
    """A step that was done."""

    stage: TrainerStage
    step: int
    """From 1."""
    of: int
    figures: Mapping[str, float] = field(default_factory=dict)
    """By name, see `FIGURES`."""


@dataclass(frozen=True, slots=True)
class SampledPlan:
    """A completion for a task."""

    task: str
    text: str


@dataclass(frozen=True, slots=True)
class Rollouts:
    """Plans of one iteration, which wait for their rewards."""

    id: int
    """Number of the iteration, from 1: the same one again after a restart."""
    plans: tuple[SampledPlan, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The last line of a trainer."""

    why: Ending
    message: str
    model: str | None = None
    """Folder of the model, inside of the training's; none if there is none."""


@dataclass(frozen=True, slots=True)
class Rewards:
    """What the plans of a `Rollouts` are worth, in its order."""

    id: int
    rewards: tuple[float | None, ...]
    """None: missing, because a worker failed; such a plan gets no weight."""


@dataclass(frozen=True, slots=True)
class Stop:
    """End at the next step, and keep a checkpoint."""


TrainerMessage = TrainerProgress | Rollouts | Ended
SiteMessage = Rewards | Stop


def line_of(message: TrainerMessage | SiteMessage) -> str:
    """Return a message as one line, with its end."""
    match message:
        case TrainerProgress():
            parts: dict[str, Any] = {
                "say": "progress",
                "stage": message.stage,
                "step": message.step,
                "of": message.of,
                **{n: v for n, v in message.figures.items() if math.isfinite(v)},
            }
        case Rollouts() | Ended():
            parts = {"say": type(message).__name__.lower(), **asdict(message)}
        case Rewards():
            parts = asdict(message)
        case Stop():
            parts = {"say": "stop"}
    return json.dumps(parts, ensure_ascii=False, allow_nan=False) + "\n"


def trainer_message(line: str) -> TrainerMessage:
    """Return what a trainer said. Raises: ProtocolError."""
    parts = _parts(line)
    try:
        match parts.get("say"):
            case "progress":
                return _progress(parts)
            case "rollouts":
                plans = (
                    SampledPlan(str(p["task"]), str(p["text"])) for p in parts["plans"]
                )
                return Rollouts(_count(parts["id"]), tuple(plans))
            case "ended":
                model = parts.get("model")
                return Ended(
                    Ending(parts["why"]),
                    str(parts["message"]),
                    None if model is None else str(model),
                )
    except (KeyError, TypeError, ValueError) as error:
        raise _unexpected(line) from error
    raise _unexpected(line)


def site_message(line: str) -> SiteMessage:
    """Return what the site said. Raises: ProtocolError."""
    parts = _parts(line)
    if parts.get("say") == "stop":
        return Stop()
    try:
        return Rewards(_count(parts["id"]), tuple(map(_reward, parts["rewards"])))
    except (KeyError, TypeError, ValueError) as error:
        raise _unexpected(line) from error


def _progress(parts: dict[str, Any]) -> TrainerProgress:
    figures = {name: float(parts[name]) for name in FIGURES if name in parts}
    return TrainerProgress(
        TrainerStage(parts["stage"]),
        _count(parts["step"]),
        _count(parts["of"]),
        figures,
    )


def _parts(line: str) -> dict[str, Any]:
    try:
        parts = json.loads(line)
    except ValueError as error:
        raise _unexpected(line) from error
    if not isinstance(parts, dict):
        raise _unexpected(line)
    return parts


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError("expected a count")
    return value


def _reward(value: object) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise TypeError("expected a number or null")
    return float(value)  # type: ignore[arg-type]


def _unexpected(line: str) -> ProtocolError:
    return ProtocolError(f"no message of a training: {line.strip()[:200]!r}")
