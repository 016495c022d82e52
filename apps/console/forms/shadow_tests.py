"""What people send to start a shadow test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.utils import timezone

from apps.console.forms.base import ConsoleForm
from apps.console.forms.numbers import dollars
from apps.core.money import MICROS
from apps.evaluation.shadow.settings import MAX_DAYS
from apps.evaluation.systems.short_names import systems_named
from apps.pools.types import PoolSnapshot

FROM_NOW = "now"
BEGIN = (
    (FROM_NOW, "From now on"),
    ("1", "Recorded runs of the last day"),
    ("7", "Recorded runs of the last 7 days"),
    ("30", "Recorded runs of the last 30 days"),
)
FIXED = {"self-reflection": "Self-reflection of", "moa": "Mixture of agents by"}
SEPARATOR = " "
"""Between a pool and a system in the value of a choice; neither holds one."""


class ShadowTestForm(ConsoleForm):
    """Which runs are mirrored, and to what."""

    name = forms.CharField(max_length=80, help_text="For the list of tests.")
    original = forms.ChoiceField(
        label="Runs of", help_text="Callers go on getting the answers of this tier."
    )
    candidate = forms.ChoiceField(
        help_text="Answers the same requests in the background; no caller notices."
    )
    begin = forms.ChoiceField(label="Which runs", choices=BEGIN)
    percent = forms.IntegerField(
        label="Share in percent",
        min_value=1,
        max_value=100,
        initial=100,
        help_text="Drawn by the runs' ids.",
    )
    days = forms.IntegerField(
        label="Days from now",
        min_value=1,
        max_value=MAX_DAYS,
        initial=7,
        required=False,
        help_text="So long runs from now on are mirrored.",
    )
    max_runs = forms.IntegerField(
        label="Runs at most", min_value=1, max_value=10_000, initial=100
    )
    max_cost = dollars("Cost limit in US dollars")
    grader = forms.ChoiceField(
        required=False,
        help_text="Says which answer is better where the final answers differ. Must be "
        "in the candidate's pool.",
    )
    error_names: ClassVar[dict[str, str]] = {
        "max_cost_micros": "max_cost",
        "tier": "original",
        "pool": "original",
        "candidate_pool": "candidate",
        "since": "begin",
    }

    def __init__(
        self, *args: Any, pools: Mapping[str, PoolSnapshot], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._pools = pools
        first = next(iter(pools.values()))
        last = [*first.tiers][-1]
        self.initial["original"] = f"{first.name}{SEPARATOR}{last}"
        fallback = f"{first.name}{SEPARATOR}worker:{first.fallback}"
        self.initial["candidate"] = fallback
        self.fields["max_cost"].help_text = (
            "No run of the candidate begins that could exceed it. Every worker needs a "
            "price."
        )
        self._offer("original", [(name, _tiers(pool)) for name, pool in pools.items()])
        candidates = [(name, _candidates(pool)) for name, pool in pools.items()]
        self._offer("candidate", candidates)
        workers = {w.name: None for pool in pools.values() for w in pool.chat_workers}
        self._offer("grader", [("", "None"), *((name, name) for name in workers)])

    def _offer(self, name: str, choices: Sequence[tuple[str, Any]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def values(self) -> dict[str, Any]:
        """Return the settings of the test."""
        given = self.cleaned_data
        pool, tier = given["original"].split(SEPARATOR)
        candidate_pool, system = given["candidate"].split(SEPARATOR)
        (candidate,) = systems_named([system], self._pools[candidate_pool])
        found = {
            "name": given["name"],
            "pool": pool,
            "tier": tier,
            "candidate": candidate,
            "candidate_pool": candidate_pool if candidate_pool != pool else None,
            "percent": given["percent"],
            "days": given["days"],
            "max_runs": given["max_runs"],
            "max_cost_micros": int(given["max_cost"] * MICROS),
            "grader": given["grader"] or None,
        }
        if given["begin"] != FROM_NOW:
            days = int(given["begin"])
            since = timezone.now() - timedelta(days=days)
            found |= {"since": since.isoformat(), "days": days}
        return {name: value for name, value in found.items() if value is not None}


def _tiers(pool: PoolSnapshot) -> list[tuple[str, str]]:
    return [
        (f"{pool.name}{SEPARATOR}{tier}", f"{pool.name}/{tier}") for tier in pool.tiers
    ]


def _candidates(pool: PoolSnapshot) -> list[tuple[str, str]]:
    workers = [worker.name for worker in pool.chat_workers]
    systems = {f"conductor:{tier}": f"Tier {tier}" for tier in pool.tiers}
    systems |= {f"worker:{name}": f"{name} alone" for name in workers}
    for system, words in FIXED.items():
        systems |= {f"{system}:{name}": f"{words} {name}" for name in workers}
    return [
        (f"{pool.name}{SEPARATOR}{system}", f"{pool.name}: {words}")
        for system, words in systems.items()
    ]
