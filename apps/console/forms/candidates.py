"""The fields that forms for tests of a candidate share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms

from apps.console.forms.base import ConsoleForm
from apps.evaluation.systems.short_names import systems_named
from apps.pools.types import PoolSnapshot

FIXED = {"self-reflection": "Self-reflection of", "moa": "Mixture of agents by"}
SEPARATOR = " "
"""Between a pool and a system in the value of a choice; neither holds one."""
PROMOTABLE = (
    "A tier or a worker alone can be promoted afterwards, if it is of the same pool. "
    "All others can only be compared."
)


class CandidateForm(ConsoleForm):
    """A tier, and what is tested in its place."""

    name = forms.CharField(max_length=80, help_text="For the list of tests.")
    original = forms.ChoiceField()
    candidate = forms.ChoiceField()
    error_names: ClassVar[dict[str, str]] = {
        "tier": "original",
        "pool": "original",
        "candidate_pool": "candidate",
    }

    def __init__(
        self, *args: Any, pools: Mapping[str, PoolSnapshot], **kwargs: Any
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
        (candidate,) = systems_named([system], self._pools[candidate_pool])
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
