"""The choices of a member before a run: pools, tiers, single workers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext, gettext_noop

from apps.accounts.principal import Principal
from apps.accounts.selectors import api_key_list, member_list
from apps.conversations.selectors import runs_of_conversation
from apps.playground.run_lists.filters import FilterChoices
from apps.pools.models import Pool, Tier, TierName, WorkerKind
from apps.pools.selectors import pool_list, worker_list
from apps.presets.selectors import preset_list
from apps.runs.planning.model_resolver import direct_model
from apps.runs.selectors import family_names, run_list
from apps.runs.types import RunFilters
from apps.web.run_addresses import id_of

RECENT_RUNS = 500
"""Enough to meet each model a team uses; the filter stays quick in a long history."""
EXPLANATIONS = {
    TierName.MINI.value: gettext_noop(
        "One worker, picked for the prompt. Quick and cheap."
    ),
    TierName.ULTRA.value: gettext_noop(
        "A plan of several steps; independent ones run in parallel."
    ),
}


@dataclass(frozen=True, slots=True)
class TierChoice:
    """A tier with the limits a run of it keeps."""

    name: str
    explanation: str
    max_steps: int
    max_rounds: int
    wall_time_s: int
    max_cost_micros: int | None

    @property
    def wall_time_ms(self) -> int:
        """Return the time limit as pages format it."""
        return self.wall_time_s * 1_000


@dataclass(frozen=True, slots=True)
class WorkerChoice:
    """A worker that can also be asked directly, without a plan."""

    name: str
    model: str
    """The model name that asks it directly."""
    description: str
    is_simulated: bool


@dataclass(frozen=True, slots=True)
class PoolChoice:
    """A pool with its tiers and workers."""

    name: str
    is_default: bool
    tiers: tuple[TierChoice, ...]
    workers: tuple[WorkerChoice, ...]

    @property
    def tier_names(self) -> frozenset[str]:
        """Return the tiers the pool offers."""
        return frozenset(tier.name for tier in self.tiers)

    @property
    def is_simulated(self) -> bool:
        """Say whether no worker of the pool is a real model."""
        return bool(self.workers) and all(w.is_simulated for w in self.workers)

    def model(self, tier: str) -> str:
        """Return the model name that stands for a tier of this pool."""
        return f"conductor-{tier}" if self.is_default else f"{self.name}/{tier}"


def pool_choices(team_id: uuid.UUID) -> list[PoolChoice]:
    """Return the pools of a team, the default one first."""
    pools = pool_list(team_id).prefetch_related("places__worker")
    return sorted((_pool(p) for p in pools), key=lambda pool: not pool.is_default)


def direct_models(pools: Sequence[PoolChoice]) -> list[str]:
    """Return the model names that ask one worker of these pools directly."""
    return [worker.model for pool in pools for worker in pool.workers]


def recent_models(team_id: uuid.UUID) -> list[str]:
    """Return the models of a team's latest runs, by name."""
    runs = run_list(team_id=team_id, filters=RunFilters())
    return sorted(set(runs.values_list("model", flat=True)[:RECENT_RUNS]))


def filter_choices(principal: Principal, given: Mapping[str, str]) -> FilterChoices:
    """Return what the list of runs can be filtered by; names of what is given."""
    team_id = principal.team_id
    workers = worker_list(team_id).prefetch_related(None)
    keys: dict[str, str] = {}
    if (key_id := id_of(given.get("key", ""))) is not None:
        rows = api_key_list(team_id).filter(id=key_id)
        keys = {key.id.hex: key.name for key in rows}
    members: dict[str, str] = {}
    if (user_id := id_of(given.get("member", ""))) is not None:
        people = [each.user for each in member_list(team_id).filter(user_id=user_id)]
        members = {user.id.hex: user.name or user.email for user in people}
    turns: tuple[uuid.UUID, ...] = ()
    if (conversation_id := id_of(given.get("conversation", ""))) is not None:
        turns = runs_of_conversation(team_id, conversation_id)
    return FilterChoices(
        models=recent_models(team_id),
        workers=list(workers.values_list("name", flat=True)),
        families=family_names(team_id),
        presets=_preset_names(principal, given.get("preset", "")),
        keys=keys,
        members=members,
        turns=turns,
    )


def _preset_names(principal: Principal, chosen: str) -> dict[str, str]:
    """Return the names of presets by their ids: the usual ones, and the chosen one."""
    rows = preset_list(principal, is_archived=None)
    wanted = Q(is_archived=False) | Q(id=id_of(chosen))
    return {str(row.id): row.name for row in rows.filter(wanted)}


def _pool(pool: Pool) -> PoolChoice:
    return PoolChoice(
        name=pool.name,
        is_default=pool.is_default,
        tiers=tuple(_tier(tier) for tier in pool.tiers.all()),
        workers=tuple(
            WorkerChoice(
                worker.name,
                direct_model(worker.name, None if pool.is_default else pool.name),
                worker.description,
                worker.is_simulated,
            )
            for worker in pool.enabled_workers
            if worker.kind == WorkerKind.CHAT
        ),
    )


def _tier(tier: Tier) -> TierChoice:
    return TierChoice(
        name=tier.name,
        explanation=gettext(EXPLANATIONS[tier.name]),
        max_steps=tier.max_steps,
        max_rounds=tier.max_rounds,
        wall_time_s=tier.wall_time_s,
        max_cost_micros=tier.max_cost_micros,
    )
