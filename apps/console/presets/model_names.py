"""Models that a preset can name, as the composer offers them."""

from __future__ import annotations

import uuid

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.pools.models import Pool, WorkerKind
from apps.pools.selectors import pool_list
from apps.runs.planning.model_resolver import direct_model

Choice = tuple[str, str]
CHOSEN_LATER = gettext_noop("Chosen with each prompt")


def model_groups(
    team_id: uuid.UUID, present: str = ""
) -> list[tuple[str, list[Choice]]]:
    """Return the tiers and workers of a team's pools, by pool, as a select has them.

    `present` is offered too, if no pool has it any more.
    """
    pools = pool_list(team_id).prefetch_related("tiers", "places__worker")
    ordered = sorted(pools, key=lambda pool: not pool.is_default)
    groups = [(pool.name, [*_tiers(pool), *_workers(pool)]) for pool in ordered]
    known = {model for _pool, choices in groups for model, _ in choices}
    others = [(present, present)] if present and present not in known else []
    return [
        ("", [("", _(CHOSEN_LATER))]),
        *groups,
        *([(_("Not offered any more"), others)] if others else []),
    ]


def model_sent(team_id: uuid.UUID, sent: QueryDict) -> str:
    """Return the model that the composer's fields `worker`, `pool` and `tier` name."""
    if worker := sent.get("worker", ""):
        return worker
    tier, name = sent.get("tier", ""), sent.get("pool", "")
    pool = pool_list(team_id).filter(name=name).first() if tier and name else None
    return "" if pool is None else _tier_model(pool, tier)


def _tiers(pool: Pool) -> list[Choice]:
    names = [tier.name for tier in pool.tiers.all()]
    return [
        (_tier_model(pool, name), _("%(name)s tier") % {"name": name.capitalize()})
        for name in names
    ]


def _workers(pool: Pool) -> list[Choice]:
    of = None if pool.is_default else pool.name
    return [
        (
            direct_model(worker.name, of),
            _("%(name)s, without a plan") % {"name": worker.name},
        )
        for worker in pool.enabled_workers
        if worker.kind == WorkerKind.CHAT
    ]


def _tier_model(pool: Pool, tier: str) -> str:
    return f"conductor-{tier}" if pool.is_default else f"{pool.name}/{tier}"
