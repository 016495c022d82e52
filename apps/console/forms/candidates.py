"""The fields that forms for tests of a candidate share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm, is_changed
from apps.evaluation.systems.short_names import systems_named
from apps.pools.types import PoolSnapshot

FIXED = {
    "self-reflection": _("Self-reflection of {worker} (comparison only)"),
    "moa": _("Mixture of agents by {worker} (comparison only)"),
}
DATA_CLASS_CHOICES = (
    ("public", _("Public")),
    ("internal", _("Internal")),
    ("confidential", _("Confidential")),
    ("restricted", _("Restricted")),
)
SEPARATOR = " "
"""Between a pool and a system in the value of a choice; neither holds one."""
PROMOTABLE = _(
    "A tier or a worker alone can be promoted afterwards. Fixed plans, and tiers with "
    "fewer workers, can only be compared."
)
EMPTY: tuple[object, ...] = (None, "", [])
PLANNED = ("conductor", "rounds", "steps", "workers")
"""Fields that a tier alone has."""


class CandidateForm(ConsoleForm):
    """A tier, and what is tested in its place."""

    name = forms.CharField(
        label=_("Name"), max_length=80, help_text=_("For the list of tests.")
    )
    original = forms.ChoiceField(label=_("Original"))
    candidate = forms.ChoiceField(label=_("Candidate"))
    conductor = forms.ChoiceField(
        label=_("Planned by"),
        required=False,
        help_text=_(
            "A conductor that plans for the candidate. It must be a tier then."
        ),
    )
    rounds = forms.IntegerField(
        label=_("Rounds of the candidate"),
        min_value=0,
        max_value=10,
        required=False,
        help_text=_(
            "Plans of a run of a tier, at most. 0: no plan, the fallback worker "
            "answers. Empty: as the tier says."
        ),
    )
    steps = forms.IntegerField(
        label=_("Steps of the candidate"),
        min_value=1,
        max_value=64,
        required=False,
        help_text=_("Of each plan of a tier, at most. Empty: as the tier says."),
    )
    workers = forms.MultipleChoiceField(
        label=_("Only these workers"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Of the candidate’s pool. Plans of a tier then name no others. None "
            "chosen: all of the pool."
        ),
    )
    pool_version = forms.IntegerField(
        label=_("Version of the candidate’s pool"),
        min_value=1,
        max_value=2**31 - 1,
        required=False,
        help_text=_(
            "A number from the history of the pool, for a tier or a worker "
            "alone. Empty: the present one."
        ),
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
        self.offer("conductor", [("", _("The pool’s conductor")), *known])
        names_pool = len(pools) > 1
        self.offer("workers", _workers(pools.values(), names_pool=names_pool))

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
        chosen = given.get("candidate", "")
        pool, system = chosen.partition(SEPARATOR)[::2]
        others = {name.partition(SEPARATOR)[0] for name in given.get("workers", ())}
        if pool and not others <= {pool}:
            said = _("Expected workers of {pool} alone, the pool of the candidate.")
            self.add_error("workers", said.format(pool=pool))
        kind = system.partition(":")[0]
        for name in PLANNED:
            if kind != "conductor" and given.get(name) not in EMPTY:
                self.add_error(name, _("Only a tier has this."))
        if kind not in ("conductor", "worker") and given.get("pool_version"):
            self.add_error("pool_version", _("Only a tier or a worker alone has this."))
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
            "steps": given["steps"],
            "workers": ",".join(w.partition(SEPARATOR)[2] for w in given["workers"]),
            "pool-version": given["pool_version"],
        }
        parts = [f"{n}={v}" for n, v in options.items() if v not in EMPTY]
        name = ":".join([system, *parts])
        (candidate,) = systems_named([name], self._pools[candidate_pool])
        return {
            "name": given["name"],
            "pool": pool,
            "tier": tier,
            "candidate": candidate,
            "candidate_pool": candidate_pool if candidate_pool != pool else None,
        }


def worker_names(pools: Mapping[str, PoolSnapshot]) -> list[str]:
    """Return the workers of pools that answer conversations, each once."""
    names = (w.name for pool in pools.values() for w in pool.chat_workers)
    return list(dict.fromkeys(names))


def _workers(
    pools: Iterable[PoolSnapshot], *, names_pool: bool
) -> list[tuple[str, str]]:
    """Return the workers of each pool; one that works for two is there twice."""
    return [
        (
            f"{pool.name}{SEPARATOR}{worker.name}",
            f"{pool.name}: {worker.name}" if names_pool else worker.name,
        )
        for pool in pools
        for worker in pool.chat_workers
    ]


def _tiers(pool: PoolSnapshot) -> list[tuple[str, str]]:
    return [
        (f"{pool.name}{SEPARATOR}{tier}", f"{pool.name}/{tier}") for tier in pool.tiers
    ]


def _candidates(pool: PoolSnapshot) -> list[tuple[str, str]]:
    workers = [worker.name for worker in pool.chat_workers]
    systems = {
        f"conductor:{tier}": gettext("Tier {tier}").format(tier=tier)
        for tier in pool.tiers
    }
    systems |= {
        f"worker:{name}": gettext("{worker} alone").format(worker=name)
        for name in workers
    }
    for system, words in FIXED.items():
        systems |= {f"{system}:{name}": words.format(worker=name) for name in workers}
    return [
        (f"{pool.name}{SEPARATOR}{system}", f"{pool.name}: {words}")
        for system, words in systems.items()
    ]
