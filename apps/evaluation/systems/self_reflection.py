"""One worker corrects its own answer, turn by turn. Source: arXiv 2303.17651."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from django.utils.translation import gettext_noop as _
from pydantic import Field

from apps.evaluation.systems.base import PageChoice
from apps.evaluation.systems.repeated_worker import RepeatedWorkerSystem
from apps.planners.fixed import SelfReflectionPlanner


class SelfReflectionSystem(RepeatedWorkerSystem):
    """A chain of calls of one worker, each of which reads all before it."""

    short_form: ClassVar[str] = "self-reflection:NAME[:TURNS]"
    short_name: ClassVar[str] = "self-reflection"
    kind_name: ClassVar[str] = "self_reflection"
    count_field: ClassVar[str] = "turns"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "self-reflection",
            _("Self-reflection of the chosen worker"),
            ("{worker}", "{turns}"),
            is_usual=True,
        ),
    )

    kind: Literal["self_reflection"]
    turns: Annotated[int, Field(ge=2, le=10)] = 5
    """Calls in all, the first answer included."""

    @property
    def planner(self) -> SelfReflectionPlanner:
        """Return a chain of answers."""
        return SelfReflectionPlanner(self.worker, self.turns)
