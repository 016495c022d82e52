"""What people send to start a shadow test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.utils import timezone

from apps.console.forms.base import ConsoleForm
from apps.console.forms.numbers import dollars
from apps.core.data_classes import DATA_CLASSES
from apps.core.money import MICROS
from apps.evaluation.shadow.settings import MAX_DAYS
from apps.evaluation.systems.short_names import systems_named
from apps.governance.models import Rating
from apps.pools.types import PoolSnapshot
from apps.runs.models import RunState, Source

FROM_NOW = "now"
BEGIN = (
    (FROM_NOW, "From now on"),
    ("1", "Recorded runs of the last day"),
    ("7", "Recorded runs of the last 7 days"),
    ("30", "Recorded runs of the last 30 days"),
)
ANY = ("", "Any")
FILTERS = (
    "source",
    "key",
    "member",
    "words",
    "state",
    "cost_from",
    "cost_to",
    "feedback",
    "data_class",
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
        help_text="Answers the same requests in the background; no caller notices. A "
        "tier or a worker alone can be promoted afterwards, if it is of the same pool. "
        "All others can only be compared.",
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
    source = forms.ChoiceField(
        label="Comes from",
        required=False,
        choices=[
            ANY,
            *((each.value, each.label) for each in (Source.PLAYGROUND, Source.API)),
        ],
    )
    key = forms.ChoiceField(label="API key", required=False)
    member = forms.ChoiceField(required=False)
    words = forms.CharField(
        label="Words in the title",
        required=False,
        max_length=200,
        help_text="The title is the beginning of the prompt.",
    )
    state = forms.ChoiceField(
        label="Ended as",
        required=False,
        choices=[
            ANY,
            *(
                (each.value, each.label)
                for each in (RunState.COMPLETED, RunState.FAILED)
            ),
        ],
    )
    cost_from = dollars("Cost from, in US dollars", required=False)
    cost_to = dollars("Cost up to, in US dollars", required=False)
    feedback = forms.ChoiceField(
        label="Rated",
        required=False,
        choices=[ANY, *Rating.choices],
        help_text="By anybody. Only recorded runs have it.",
    )
    data_class = forms.ChoiceField(
        label="Data class",
        required=False,
        choices=[ANY, *((name, name.capitalize()) for name in DATA_CLASSES)],
        help_text="As the policy found it. Of a team without rules no run has one.",
    )
    error_names: ClassVar[dict[str, str]] = {
        "max_cost_micros": "max_cost",
        "tier": "original",
        "pool": "original",
        "candidate_pool": "candidate",
        "since": "begin",
    }

    def __init__(
        self,
        *args: Any,
        pools: Mapping[str, PoolSnapshot],
        members: Iterable[tuple[UUID, str]] = (),
        keys: Iterable[tuple[UUID, str]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        for name, known in (("member", members), ("key", keys)):
            self._offer(name, [ANY, *((str(each), label) for each, label in known)])
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

    @property
    def filter_fields(self) -> list[forms.BoundField]:
        """Return the fields that choose some of the tier's runs."""
        return [self[name] for name in FILTERS]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        """Return all other fields."""
        return [field for field in self if field.name not in FILTERS]

    @property
    def has_filters(self) -> bool:
        """Say whether a filter is set or has a fault."""
        return any(field.value() or field.errors for field in self.filter_fields)

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
            "sources": (given["source"],) if given["source"] else None,
            "filters": _filters(given) or None,
        }
        if given["begin"] != FROM_NOW:
            days = int(given["begin"])
            since = timezone.now() - timedelta(days=days)
            found |= {"since": since.isoformat(), "days": days}
        return {name: value for name, value in found.items() if value is not None}


def _filters(given: Mapping[str, Any]) -> dict[str, Any]:
    cost_from, cost_to = given["cost_from"], given["cost_to"]
    found = {
        "api_key_id": given["key"],
        "user_id": given["member"],
        "query": given["words"],
        "state": given["state"],
        "min_cost_micros": cost_from and int(cost_from * MICROS),
        "max_cost_micros": cost_to and int(cost_to * MICROS),
        "feedback": given["feedback"],
        "data_classes": [given["data_class"]] if given["data_class"] else None,
    }
    return {name: value for name, value in found.items() if value}


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
