"""One worker corrects its own answer, turn by turn. Source: arXiv 2303.17651."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from apps.evaluation.systems.base import (
    Arrangement,
    BaseSystem,
    PageChoice,
    PoolNames,
    RoundShape,
    TaskContext,
    Values,
    WorkerName,
)
from apps.planners.fixed import SelfReflectionPlanner


class SelfReflectionSystem(BaseSystem):
    """A chain of calls of one worker, each of which reads all before it."""

    short_form: ClassVar[str] = "self-reflection:NAME[:TURNS]"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "self-reflection",
            "Self-reflection of the chosen worker",
            ("{worker}", "{turns}"),
            is_usual=True,
        ),
    )

    kind: Literal["self_reflection"]
    worker: WorkerName
    turns: Annotated[int, Field(ge=2, le=10)] = 5
    """Calls in all, the first answer included."""

    @classmethod
    def named(cls, parts: Sequence[str], pool: PoolNames) -> list[Values] | None:
        """Return self-reflection of one worker."""
        match parts:
            case ["self-reflection", worker]:
                return [{"kind": "self_reflection", "worker": worker}]
            case ["self-reflection", worker, turns] if turns.isdecimal():
                given = {"worker": worker, "turns": int(turns)}
                return [{"kind": "self_reflection", **given}]
        return None

    @property
    def label(self) -> str:
        """Return the system's name in reports."""
        return f"self-reflection × {self.turns} ({self.worker})"

    @property
    def named_workers(self) -> tuple[str, ...]:
        """Return the workers that the pool must have."""
        return (self.worker,)

    @property
    def steps(self) -> int:
        """Return the steps that its plan has."""
        return self.turns

    def arrange(self, task: TaskContext) -> Arrangement:
        """Let the worker answer and reflect."""
        return Arrangement(
            task.carrier,
            SelfReflectionPlanner(self.worker, self.turns),
            rounds=(RoundShape(self.turns, self.named_workers),),
        )
