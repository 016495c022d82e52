"""One worker answers several times, the last time with its earlier answers in sight.

How far the answers agree says how sure the worker is; a cascade learns from that. After
arXiv 2311.17311, where the model chooses among its answers; here it answers anew, so
that its last answer is one more opinion.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from django.utils.translation import gettext_noop as _
from pydantic import Field

from apps.evaluation.systems.base import PageChoice
from apps.evaluation.systems.repeated_worker import RepeatedWorkerSystem
from apps.planners.fixed import SamplesPlanner

SampleCount = Annotated[int, Field(ge=2, le=10)]


class SamplesSystem(RepeatedWorkerSystem):
    """Several answers of one worker."""

    short_form: ClassVar[str] = "samples:NAME[:COUNT] (several answers of one worker)"
    short_name: ClassVar[str] = "samples"
    kind_name: ClassVar[str] = "samples"
    count_field: ClassVar[str] = "samples"
    page_choices: ClassVar[tuple[PageChoice, ...]] = (
        PageChoice(
            "samples",
            _("Several answers from the cheap worker, for a cascade to learn from"),
            ("{cheap}", "{samples}"),
            needs=("cheap",),
        ),
    )

    kind: Literal["samples"]
    samples: SampleCount = 3
    """Answers in all."""

    @property
    def planner(self) -> SamplesPlanner:
        """Return independent answers, and a last one that sees them."""
        return SamplesPlanner(self.worker, self.samples)
