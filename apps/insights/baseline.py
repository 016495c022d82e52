"""What one worker alone would have used for the same queries: an estimate.

Prompt and answer are the same, and nothing else is used: no plan, no other step, no
call that failed. What the answer would be worth is not asked; evaluations and shadow
tests measure that (`measured.py`).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone

from apps.engine.usage import Price, Usage
from apps.insights.types import QueryFigures
from apps.pools.models import Price as PriceRow
from apps.pools.models import WorkerKind


@dataclass(frozen=True, slots=True)
class Baseline:
    """An estimate beside what was used; of the runs that can be compared."""

    worker: str
    runs: int
    tokens: int
    """Of all prompts and answers, estimated."""
    cost_micros: int
    """At the price of the worker."""
    used_tokens: int
    used_cost_micros: int

    @property
    def token_ratio(self) -> float | None:
        """Return how many times the tokens were used. None: there is no estimate."""
        return self.used_tokens / self.tokens if self.tokens else None

    @property
    def cost_ratio(self) -> float | None:
        """Return how many times the cost was paid. None: there is no estimate."""
        return self.used_cost_micros / self.cost_micros if self.cost_micros else None


def worker_prices(team_id: uuid.UUID) -> dict[str, Price]:
    """Return the prices in force of a team's workers that chat, by name."""
    rows = PriceRow.objects.for_team(team_id).filter(
        worker__is_enabled=True,
        worker__kind=WorkerKind.CHAT,
        valid_from__lte=timezone.now().date(),
    )
    # The latest comes last and takes the place of those before.
    return {
        name: Price(read, written, cached)
        for name, read, written, cached in rows.order_by("valid_from").values_list(
            "worker__name", "input_micros", "output_micros", "cached_input_micros"
        )
    }


def reference_of(prices: Mapping[str, Price], chosen: str, asked: QueryFigures) -> str:
    """Return the chosen worker, else the dearest for these queries; empty: none."""
    if chosen in prices:
        return chosen
    usage = Usage(asked.based_asked or 1, asked.based_answered or 1)
    return max(
        sorted(prices), key=lambda name: prices[name].cost_micros(usage), default=""
    )


def baseline_of(
    figures: QueryFigures, worker: str, prices: Mapping[str, Price]
) -> Baseline | None:
    """Return the estimate for some queries. None: there is nothing to compare."""
    if worker not in prices or not figures.based_runs:
        return None
    usage = Usage(figures.based_asked, figures.based_answered)
    return Baseline(
        worker=worker,
        runs=figures.based_runs,
        tokens=usage.total_tokens,
        cost_micros=prices[worker].cost_micros(usage),
        used_tokens=figures.based_tokens,
        used_cost_micros=figures.based_cost_micros,
    )
