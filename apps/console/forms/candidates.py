"""The fields that forms for tests of a candidate share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms

from apps.console.forms.base import ConsoleForm, is_changed
from apps.evaluation.systems.short_names import systems_named
from apps.pools.types import PoolSnapshot

FIXED = {"self-reflection": "Self-reflection of", "moa": "Mixture of agents by"}
SEPARATOR = " "
"""Between a pool and a system in the value of a choice; neither holds one."""
PROMOTABLE = (
    "A tier or a worker alone can be promoted afterwards. Fixed plans can only be "
    "compared."
)
PLANNED = ("conductor", "rounds")
"""Fields that a tier alone has."""


class CandidateForm(ConsoleForm):
    """A tier, and what is tested in its place."""

    name = forms.CharField(max_length=80, help_text="For the list of tests.")
    original = forms.ChoiceField()
    candidate = forms.ChoiceField()
    conductor = forms.ChoiceField(
        label="Planned by",
        required=False,
        help_text="A conductor that plans for the candidate. It must be a tier then.",
    )
    rounds = forms.IntegerField(
        label="Rounds of the candidate",
        min_value=0,
        max_value=10,
        required=False,
        help_text="Plans of a run of a tier. 0: nobody plans, and the fallback worker "
        "answers. Empty: as the tier says.",
    )
    pool_version = forms.IntegerField(
        label="Version of the candidate’s pool",
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text="A number from the history of the pool, for a tier or a worker "
        "alone. Empty: the present one.",
    )
    variant: ClassVar[tuple[str, ...]] = (*PLANNED, "pool_version")
    """Fields that are seldom needed; pages show them on demand, apart from others."""
    error_names: ClassVar[dict[str, str]] = {
        "tier": "original",
        "pool": "original",
        "candidate_pool": "candidate",
    }

    def __init__(
        self,
        *args: Any,
        pools: Mapping[str, PoolSnapshot],
        conductors: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._pools = pools
        first = next(iter(pools.values()))
        self.initial["original"] = f"{first.name}{SEPARATOR}{[*first.tiers][-1]}"
        fallback = f"{first.name}{SEPARATOR}worker:{first.fallback}"
        self.initial["candidate"] = fallback
        self.offer("original", [(name, _tiers(pool)) for name, pool in pools.items()])
        candidates = [(name, _candidates(pool)) for name, pool in pools.items()]
        self.offer("candidate", candidates)
        known = [(name, name) for name in conductors]
        self.offer("conductor", [("", "The pool’s conductor"), *known])

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that pages show at once."""
        return [each for each in super().main_fields if each.name not in self.variant]

    @property
    def variant_fields(self) -> list[forms.BoundField]:
        """Return the fields that make the candidate another one than its name says."""
        return [self[name] for name in self.variant]

    @property
    def is_variant(self) -> bool:
        """Say whether one of these fields is used or has a fault."""
        return any(map(is_changed, self.variant_fields))

    def clean(self) -> dict[str, Any]:
        """Refuse fields that the candidate does not have."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        _, _, system = given.get("candidate", "").partition(SEPARATOR)
        kind = system.partition(":")[0]
        for name in PLANNED:
            if kind != "conductor" and given.get(name) not in (None, ""):
                self.add_error(name, "Only a tier has this.")
        if kind not in ("conductor", "worker") and given.get("pool_version"):
            self.add_error("pool_version", "Only a tier or a worker alone has this.")
        return given

    def offer(self, name: str, choices: Sequence[tuple[str, Any]]) -> None:
        """Set the choices of a field."""
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def candidate_values(self) -> dict[str, Any]:
        """Return the settings that all tests of a candidate have."""
        given = self.cleaned_data
        pool, tier = given["original"].split(SEPARATOR)
        candidate_pool, system = given["candidate"].split(SEPARATOR)
        options = {
            "conductor": given["conductor"],
            "rounds": given["rounds"],
            "pool-version": given["pool_version"],
        }
        parts = [f"{n}={v}" for n, v in options.items() if v not in (None, "")]
        name = ":".join([system, *parts])
        (candidate,) = systems_named([name], self._pools[candidate_pool])
        return {
            "name": given["name"],
            "pool": pool,
            "tier": tier,
            "candidate": candidate,
            "candidate_pool": candidate_pool if candidate_pool != pool else None,
        }


def _tiers(pool: PoolSnapshot) -> list[tuple[str, str]]:
    return [
        (f"{pool.name}{SEPARATOR}{tier}", f"{pool.name}/{tier}") for tier in pool.tiers
    ]


def _candidates(pool: PoolSnapshot) -> list[tuple[str, str]]:
    workers = [worker.name for worker in pool.chat_workers]
    systems = {f"conductor:{tier}": f"Tier {tier}" for tier in pool.tiers}
    systems |= {f"worker:{name}": f"{name} alone" for name in workers}
    for system, words in FIXED.items():
        systems |= {
            f"{system}:{name}": f"{words} {name} (comparison only)" for name in workers
        }
    return [
        (f"{pool.name}{SEPARATOR}{system}", f"{pool.name}: {words}")
        for system, words in systems.items()
    ]
