"""What the pages of the set-up wizard show."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from apps.console.pool_rows import WorkerRow, price_words, worker_rows
from apps.console.test_result_view import TestLine, test_line
from apps.pools.model_guesses import (
    makes_embeddings,
    planners_first,
    recommended_models,
)
from apps.pools.models import Conductor, Pool, Worker, WorkerKind
from apps.pools.selectors import (
    access_conductor,
    conductor_list,
    last_test,
    list_price,
    list_price_values,
    price_in_force,
)
from apps.pools.services import pool_to_join


@dataclass(frozen=True, slots=True)
class ModelOption:
    """A model that can be marked."""

    name: str
    price: str
    """Its list price in words. Empty: unknown."""
    is_marked: bool
    is_embedding: bool
    is_recommended: bool
    rank: int | None
    """How well suited it is to plan, from 0, the best. None: it cannot."""


@dataclass(frozen=True, slots=True)
class SetupModels:
    """The models of a team, how their tests went, and what a pool would be made of."""

    workers: tuple[WorkerRow, ...]
    conductor: Conductor | None
    conductor_test: TestLine | None
    pool: Pool | None
    """The one that the models would join. None: they get a new one."""

    @property
    def passed(self) -> tuple[WorkerRow, ...]:
        """Return the workers whose test passed."""
        return tuple(row for row in self.workers if row.test and row.test.result.ok)

    @property
    def answering(self) -> tuple[WorkerRow, ...]:
        """Return those of them that answer prompts; the first is the fallback."""
        return tuple(r for r in self.passed if r.worker.kind == WorkerKind.CHAT)

    @property
    def others(self) -> tuple[WorkerRow, ...]:
        """Return the workers whose models could plan instead, the best suited first."""
        model = self.conductor.model if self.conductor else ""
        rows = {r.worker.model: r for r in self.answering if r.worker.model != model}
        ranked = planners_first("", list(rows))
        return tuple(rows[each] for each in ranked)

    @property
    def plans(self) -> bool:
        """Say whether the conductor's test passed."""
        return self.conductor_test is not None and self.conductor_test.result.ok

    @property
    def untested(self) -> int:
        """Return how many tests have not passed yet."""
        missing = len(self.workers) - len(self.passed)
        return missing + (self.conductor is not None and not self.plans)


@dataclass(frozen=True, slots=True)
class PriceGap:
    """A model of a provider whose price is unknown."""

    key: str
    """Stands for it in a form: the id of the first worker or conductor of it."""
    model: str
    models: tuple[Worker | Conductor, ...]
    """The workers and the conductor that are this model and lack its price."""


def price_gaps(found: SetupModels) -> list[PriceGap]:
    """Return the models of the third page whose price nobody knows, each once."""
    rows: list[Worker | Conductor] = [row.worker for row in found.workers]
    if found.conductor is not None:
        rows.append(found.conductor)
    lacking: dict[tuple[str, str], list[Worker | Conductor]] = {}
    for row in rows:
        if price_in_force(row.prices.all()) is None:
            lacking.setdefault((row.base_url, row.model), []).append(row)
    return [
        PriceGap(str(models[0].id), model, tuple(models))
        for (_, model), models in lacking.items()
    ]


def model_options(
    base_url: str, names: Sequence[str], marked: Sequence[str]
) -> list[ModelOption]:
    """Return the models of a provider, those that are marked as such."""
    ranks = {name: place for place, name in enumerate(planners_first(base_url, names))}
    recommended = recommended_models(base_url, names)
    return [
        ModelOption(
            name=name,
            price=_price(base_url, name),
            is_marked=name in marked,
            is_embedding=makes_embeddings(name),
            is_recommended=name in recommended and len(names) > len(recommended),
            rank=ranks.get(name),
        )
        for name in names
    ]


def setup_models(team_id: uuid.UUID, conductor_id: uuid.UUID | None) -> SetupModels:
    """Return the enabled models of a team; without `conductor_id` its usual conductor.

    Simulated ones are left out once there are others. Raises: NotFound for a conductor
    of another team.
    """
    enabled = tuple(r for r in worker_rows(team_id) if r.worker.is_enabled)
    rows = tuple(r for r in enabled if not r.worker.is_simulated) or enabled
    pool = pool_to_join(team_id, [row.worker for row in rows])
    if conductor_id is not None:
        conductor: Conductor | None = access_conductor(team_id, conductor_id)
    else:
        conductor = (pool and pool.conductor) or _newest(team_id)
    return SetupModels(
        workers=rows,
        conductor=conductor,
        conductor_test=None if conductor is None else test_line(conductor),
        pool=pool,
    )


def _newest(team_id: uuid.UUID) -> Conductor | None:
    """Return the newest conductor, one that plans before one that does not."""
    rows = list(conductor_list(team_id).order_by("-id"))
    tests = ((row, last_test(row)) for row in rows)
    good = next((row for row, test in tests if test and test.ok), None)
    return good or next(iter(rows), None)


def _price(base_url: str, model: str) -> str:
    listed = list_price_values(list_price(base_url, model))
    return "" if listed is None else price_words(listed)
