"""Which runs a team reviews and by what they are judged: the settings as a document.

The shape of the settings in the database, in ledger entries and in the REST API. Pure.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from apps.core.data_classes import DataClassName
from apps.core.input_parts import InputPart, one_line
from apps.governance.policies.rules import MICROS, Amount

MAX_CRITERIA = 9
"""So many have a key of their own on the page."""
HIGHEST_SCORE = 5
Score = int | str
PASS_FAIL: tuple[str, ...] = ("pass", "fail")


class Criterion(InputPart):
    """One thing that a reviewer judges."""

    name: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=40),
        AfterValidator(one_line),
    ]
    kind: Literal["scale", "pass_fail"] = "scale"
    """scale: 1 to 5, 5 is best."""

    @property
    def choices(self) -> tuple[Score, ...]:
        """Return the scores that may be given, in the order of their keys."""
        is_scale = self.kind == "scale"
        return tuple(range(1, HIGHEST_SCORE + 1)) if is_scale else PASS_FAIL


def _unique_names(rubric: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
    names = [criterion.name.casefold() for criterion in rubric]
    if len(set(names)) < len(names):
        raise PydanticCustomError("unique", "two criteria have the same name")
    return rubric


class ReviewDocument(InputPart):
    """The rules that feed a team's queue, and its rubric."""

    failures: bool = False
    """Queue runs that failed."""
    policy_hits: bool = False
    """Queue runs that a rule of the policy stopped, changed or held."""
    thumbs_down: bool = False
    """Queue runs that somebody rates as bad."""
    cost_over_usd: Amount | None = None
    """Queue runs whose known cost is higher, in US dollars."""
    data_class: DataClassName | None = None
    """Queue runs whose prompt has this data class or a higher one."""
    sample_percent: Annotated[int, Field(ge=0, le=100)] = 0
    """Queue this share of all runs."""
    rubric: Annotated[
        tuple[Criterion, ...],
        Field(max_length=MAX_CRITERIA),
        AfterValidator(_unique_names),
    ] = ()
    second_reviewer: bool = False
    """A verdict needs two people."""

    @property
    def is_watching(self) -> bool:
        """Say whether runs must be looked at when they end."""
        return bool(
            self.failures
            or self.sample_percent
            or self.cost_over_usd is not None
            or self.reads_decisions
        )

    @property
    def reads_decisions(self) -> bool:
        """Say whether a rule depends on what the policy decided."""
        return self.policy_hits or self.data_class is not None

    @property
    def cost_over_micros(self) -> Decimal | None:
        """Return the cost that is still in order, in micro-dollars."""
        return None if self.cost_over_usd is None else self.cost_over_usd * MICROS

    def values(self) -> dict[str, Any]:
        """Return the document as JSON values, without what is not given."""
        return self.model_dump(mode="json", exclude_defaults=True)
