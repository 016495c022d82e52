"""Rows of the pages about pools and workers."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from apps.accounts.models import Delivery
from apps.console.ability_words import ABILITY_WORDS
from apps.console.pool_pages.change_words import ChangeLine, change_lines
from apps.console.test_result_view import TestLine, test_line
from apps.pools.models import (
    Conductor,
    Credential,
    Pool,
    PoolVersion,
    Protocol,
    Tier,
    TierName,
    TierPlanner,
    Worker,
    WorkerKind,
)
from apps.pools.selectors import (
    conductor_list,
    conductor_values,
    planning_notices,
    pool_list,
    pool_versions,
    provider_tag,
    worker_list,
    worker_values,
)
from apps.pools.types import PlanningNotice, WorkerHealth
from apps.runs.selectors import worker_healths
from apps.web import formats


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker with everything a list shows of it."""

    worker: Worker
    price: str
    health: WorkerHealth
    test: TestLine | None
    pools: tuple[str, ...]
    abilities: tuple[str, ...]
    """What sets it apart from most, in words."""
    served: str
    """The model, and the protocol if it is not the usual one."""
    provider: str
    """The tag that it has by its address."""

    @property
    def price_with_unit(self) -> str:
        """Return the price for places where no heading names the unit."""
        if self.price == _("unknown"):
            return _("price unknown")
        if not self.price.startswith("$"):
            return self.price
        return _("%(price)s per 1M tokens") % {"price": self.price}


SHIPPED_CONDUCTOR = "tiny-conductor"
"""The model that the simulator computes, which nobody but this product serves."""


@dataclass(frozen=True, slots=True)
class ConductorRow:
    """A conductor with everything a list shows of it."""

    conductor: Conductor
    price: str
    test: TestLine | None
    pools: tuple[str, ...]
    served: str
    """The model, and the protocol if it is not the usual one."""

    @property
    def is_demonstration(self) -> bool:
        """Return whether it is the small conductor that ships with the simulator."""
        return self.conductor.model == SHIPPED_CONDUCTOR


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A provider's key with who uses it. Never the key."""

    credential: Credential
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TierLine:
    """A tier in plain words."""

    label: str
    model: str
    """What callers write."""
    planner: str
    limits: str


@dataclass(frozen=True, slots=True)
class PoolCard:
    """A pool with its parts in plain words."""

    pool: Pool
    workers: tuple[WorkerRow, ...]
    tiers: tuple[TierLine, ...]
    successors: str
    """Who takes over when a worker fails, in order."""
    notices: tuple[PlanningNotice, ...]
    """Why it plans less than one might think."""


@dataclass(frozen=True, slots=True)
class VersionLine:
    """A version of a pool, and what it changed."""

    version: PoolVersion
    changes: tuple[ChangeLine, ...]
    is_first: bool
    """Nothing older is kept, so nothing can be compared."""


def worker_rows(team_id: uuid.UUID) -> list[WorkerRow]:
    """Return the workers of a team, by name."""
    workers = list(worker_list(team_id))
    return _rows(team_id, workers)


def worker_row(worker: Worker) -> WorkerRow:
    """Return one worker as lists show it."""
    return _rows(worker.team_id, [worker])[0]


def conductor_rows(team_id: uuid.UUID) -> list[ConductorRow]:
    """Return the conductors of a team, by name."""
    return [
        ConductorRow(
            conductor=each,
            price=price_words(conductor_values(each)["price"]),
            test=test_line(each),
            pools=tuple(pool.name for pool in each.pools.all()),
            served=_served(each),
        )
        for each in conductor_list(team_id)
    ]


def credential_rows(
    team_id: uuid.UUID, credentials: Iterable[Credential]
) -> list[CredentialRow]:
    """Return these keys of a team with the workers and conductors that use them."""
    users: dict[uuid.UUID | None, list[str]] = {}
    models: list[Worker | Conductor] = [*worker_list(team_id)]
    models += conductor_list(team_id)
    for model in models:
        users.setdefault(model.credential_id, []).append(model.name)
    return [CredentialRow(each, tuple(users.get(each.id, ()))) for each in credentials]


def pool_cards(team_id: uuid.UUID) -> list[PoolCard]:
    """Return the pools of a team, the default one first."""
    pools = list(
        pool_list(team_id)
        .select_related("conductor", "fallback", "planner_version")
        .prefetch_related("places__worker__prices", "places__worker__pools")
    )
    workers = {place.worker_id: place.worker for p in pools for place in p.places.all()}
    rows = {row.worker.id: row for row in _rows(team_id, list(workers.values()))}
    cards = [
        PoolCard(
            pool=pool,
            workers=tuple(rows[place.worker_id] for place in pool.places.all()),
            tiers=tuple(tier_line(pool, tier) for tier in pool.tiers.all()),
            successors=_successors(pool),
            notices=tuple(planning_notices(pool)),
        )
        for pool in pools
    ]
    return sorted(cards, key=lambda card: not card.pool.is_default)


def version_lines(pool: Pool) -> list[VersionLine]:
    """Return the kept versions of a pool, the newest first."""
    kept = sorted(
        pool_versions(pool.team_id, pool.id), key=lambda v: v.version, reverse=True
    )
    older: list[PoolVersion | None] = [*kept[1:], None]
    return [
        VersionLine(
            version=new,
            changes=() if old is None else tuple(change_lines(old, new)),
            is_first=old is None,
        )
        for new, old in zip(kept, older, strict=False)
    ]


def versions_since(pool: Pool, version: int | None) -> list[VersionLine]:
    """Return the versions after `version`, the newest first."""
    lines = version_lines(pool)
    return [line for line in lines if line.version.version > (version or 0)]


def model_names(pool: Pool) -> list[str]:
    """Return what callers write to use a pool's tiers."""
    return [tier_line(pool, tier).model for tier in pool.tiers.all()]


def price_words(price: Mapping[str, Any] | None) -> str:
    """Return a price per million tokens; unknown is never free."""
    if price is None:
        return _("unknown")
    if price["input_usd"] == price["output_usd"] == "0":
        return _("free")
    return _("%(input)s in · %(output)s out") % {
        "input": dollars(price["input_usd"]),
        "output": dollars(price["output_usd"]),
    }


def dollars(text: str) -> str:
    """Return an amount with at least its cents, and no digit lost."""
    whole, _, rest = text.partition(".")
    return f"${whole}.{rest.ljust(2, '0')}" if rest else f"${whole}"


def tier_line(pool: Pool, tier: Tier) -> TierLine:
    """Return a tier in plain words."""
    model = f"conductor-{tier.name}" if pool.is_default else f"{pool.name}/{tier.name}"
    return TierLine(
        label=TierName(tier.name).label,
        model=model,
        planner=_planner_words(pool, tier),
        limits=", ".join(_limit_words(tier)),
    )


def _rows(team_id: uuid.UUID, workers: list[Worker]) -> list[WorkerRow]:
    health = worker_healths(team_id, workers)
    return [
        WorkerRow(
            worker=each,
            price=price_words(worker_values(each)["price"]),
            health=health[each.id],
            test=test_line(each),
            pools=tuple(pool.name for pool in each.pools.all()),
            abilities=tuple(_abilities(each)),
            served=_served(each),
            provider=provider_tag(each.base_url),
        )
        for each in workers
    ]


def _served(model: Worker | Conductor) -> str:
    if model.protocol == Protocol.OPENAI:
        return model.model
    return f"{model.model} · {_(str(Protocol(model.protocol).label))}"


def _abilities(worker: Worker) -> Iterable[str]:
    if worker.kind == WorkerKind.EMBEDDING:
        yield _("makes embeddings")
        return
    for name, words in ABILITY_WORDS.items():
        mark = words.if_set if getattr(worker, name) else words.if_unset
        if mark:
            yield str(mark)


def _successors(pool: Pool) -> str:
    """Return who takes over when a worker fails, in order."""
    places = [
        each
        for each in pool.places.all()
        if each.worker_id != pool.fallback_id and each.worker.kind == WorkerKind.CHAT
    ]
    names = [each.worker.name for each in places if each.may_substitute]
    if not names:
        return pool.fallback.name
    everybody = len(names) == len(places) > 1
    others = _("the others") if everybody else ", ".join(names)
    return _("%(first)s, then %(others)s") % {
        "first": pool.fallback.name,
        "others": others,
    }


def _planner_words(pool: Pool, tier: Tier) -> str:
    if tier.planner == TierPlanner.SINGLE_WORKER:
        return _("Answered by %(name)s alone") % {"name": pool.fallback.name}
    conductor = _("by the conductor")
    if pool.conductor is not None:
        conductor = _("by %(name)s") % {"name": pool.conductor.name}
    light = _("by the light planner")
    if pool.planner_version is not None:
        number = pool.planner_version.number
        light = _("by the light planner, version %(number)d") % {"number": number}
    planner = conductor
    if tier.planner == TierPlanner.LIGHT:
        planner = light
    elif tier.planner == TierPlanner.CASCADE:
        planner = _("%(light)s, or %(conductor)s where it is unsure") % {
            "light": light,
            "conductor": conductor,
        }
    if tier.max_steps == 1:
        return _("One worker, picked %(planner)s") % {"planner": planner}
    return _("Planned %(planner)s") % {"planner": planner}


def _limit_words(tier: Tier) -> Iterable[str]:
    if tier.max_steps > 1:
        yield _steps_words(tier)
        yield _("%(number)d calls at a time") % {"number": tier.max_parallel}
    yield _("%(number)d calls with retries") % {"number": tier.max_calls}
    yield formats.duration(tier.wall_time_s * 1000)
    if tier.max_tokens is not None:
        yield _("%(number)s tokens") % {"number": f"{tier.max_tokens:,}"}
    if tier.delivery == Delivery.VERIFIED:
        yield _("answers once complete")
    if tier.is_hedged:
        yield _("a second worker when one is slow")
    if tier.allows_delegation:
        yield _("a worker may plan the rest")
    cost = tier.max_cost_micros
    if cost is None:
        yield _("no cost limit")
    else:
        yield _("%(cost)s a run") % {"cost": formats.money(cost)}


def _steps_words(tier: Tier) -> str:
    values = {"steps": tier.max_steps, "rounds": tier.max_rounds}
    if tier.max_rounds > 1:
        return _("at most %(steps)d steps in %(rounds)d rounds") % values
    return _("at most %(steps)d steps") % values
