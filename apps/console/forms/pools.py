"""A pool: its workers in order, who steps in, who plans, the limits of its tiers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django import forms
from django.forms.boundfield import BoundField
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.console.forms.deliveries import DELIVERIES
from apps.console.forms.nested_forms import (
    PathForm,
    answer_worth,
    dollars,
    flattened,
    name_field,
    whole_number,
)
from apps.core.money import usd_text
from apps.planners.answer_worth import MOST_MICROS
from apps.pools.attributes import TIER_LIMITS
from apps.pools.models import (
    Conductor,
    PlannerVersion,
    Pool,
    TierName,
    TierPlanner,
    Worker,
)
from apps.pools.selectors import pool_values

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

_PLANNERS: Mapping[TierName, Sequence[tuple[str, StrOrPromise]]] = {
    TierName.MINI: [
        (TierPlanner.CONDUCTOR, _("The conductor, if the pool has one")),
        (TierPlanner.SINGLE_WORKER, _("Always the fallback worker")),
    ],
    TierName.ULTRA: [
        (TierPlanner.CONDUCTOR, _("The conductor, if the pool has one")),
        (TierPlanner.SINGLE_WORKER, _("No plan: the fallback worker answers")),
    ],
}
HEDGED, SPARED = "is_hedged", "no_substitute_ids"
DELEGATES = "allows_delegation"
_CHOICES = ("planner", "delivery", "answer_worth_usd")
"""Fields of a tier that are no limits."""
_PLANNER_LABELS = {
    TierName.MINI: _("Who picks the worker"),
    TierName.ULTRA: _("Who plans"),
}


class PoolForm(PathForm):
    """A pool, new or old. The order of `worker_ids` is the order of the workers."""

    not_values: ClassVar[Sequence[str]] = ("version", "has_ultra", "substitute_ids")
    error_names = {"no_substitute_ids": "substitute_ids"}

    name = name_field(_("Programs ask for it as name/tier, like main/mini."))
    is_default = forms.BooleanField(
        label=_("Default: used when a caller names no pool"), required=False
    )
    conductor_id = forms.ChoiceField(
        label=_("Model that plans"),
        required=False,
        help_text=_("Plans the runs. Without one, one worker answers alone."),
    )
    worker_ids = forms.MultipleChoiceField(
        label=_("Workers"),
        error_messages={"required": _("Choose at least one worker.")},
        widget=forms.CheckboxSelectMultiple,
    )
    fallback_id = forms.ChoiceField(
        label=_("Fallback"),
        help_text=_(
            "First to take over when a worker fails; those that can substitute "
            "follow in order."
        ),
    )
    substitute_ids = forms.MultipleChoiceField(
        label=_("Can substitute"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    retries_refusals = forms.BooleanField(
        label=_("Ask another worker after a refusal"),
        required=False,
        help_text=_(
            "When a worker's provider refuses the content. Off: the refusal is "
            "the answer."
        ),
    )
    has_ultra = forms.BooleanField(label=_("Offer the ultra tier"), required=False)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(
        self,
        *args: Any,
        workers: Sequence[Worker],
        conductors: Iterable[Conductor],
        light_planner: PlannerVersion | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._workers = {str(worker.id): worker for worker in workers}
        named = [(key, worker.name) for key, worker in self._workers.items()]
        self._choices("worker_ids", named)
        self._choices("substitute_ids", named)
        no_choice = (
            [] if self.initial.get("fallback_id") else [("", _("Choose a worker"))]
        )
        self._choices("fallback_id", [*no_choice, *named])
        self._choices(
            "conductor_id",
            [
                ("", _("No conductor")),
                *((str(row.id), f"{row.name} · {row.model}") for row in conductors),
            ],
        )
        for tier in TierName:
            self.fields.update(
                {f"tiers.{tier}.{k}": field for k, field in _tier_fields(tier)}
            )
            if light_planner is not None:
                self._offer_light(tier, light_planner)

    @property
    def worker_rows(self) -> list[WorkerOption]:
        """Return the chosen workers in order, then the others by name."""
        chosen = [str(key) for key in self["worker_ids"].value() or []]
        known = [key for key in dict.fromkeys(chosen) if key in self._workers]
        others = [key for key in self._workers if key not in known]
        substitutes = {str(key) for key in self["substitute_ids"].value() or []}
        return [
            WorkerOption(self._workers[key], key in known, key in substitutes)
            for key in (*known, *others)
        ]

    @property
    def mini(self) -> TierFields:
        """Return the fields of the mini tier."""
        return self._tier(TierName.MINI)

    @property
    def ultra(self) -> TierFields:
        """Return the fields of the ultra tier."""
        return self._tier(TierName.ULTRA)

    def values(self) -> dict[str, Any]:
        """Return what the service takes."""
        values = super().values()
        spared = set(values["worker_ids"]) - set(self.cleaned_data["substitute_ids"])
        values["no_substitute_ids"] = [UUID(key) for key in sorted(spared)]
        values["worker_ids"] = [UUID(key) for key in values["worker_ids"]]
        values["fallback_id"] = UUID(values["fallback_id"])
        chosen = values["conductor_id"]
        values["conductor_id"] = UUID(chosen) if chosen else None
        for tier in values["tiers"].values():
            for amount in {"max_cost_usd", "answer_worth_usd"} & tier.keys():
                tier[amount] = tier[amount] or None
            if values["conductor_id"] is None and not _is_light(tier["planner"]):
                tier["planner"] = TierPlanner.SINGLE_WORKER
        if not self.cleaned_data["has_ultra"]:
            values["tiers"][TierName.ULTRA] = None
        return values

    def full_clean(self) -> None:
        """Ask nothing of a tier that is not offered."""
        if self.is_bound and "has_ultra" not in self.data:
            for name, field in self.fields.items():
                if name.startswith(f"tiers.{TierName.ULTRA}."):
                    field.required = False
        super().full_clean()

    def _tier(self, tier: TierName) -> TierFields:
        fields = {
            each.name.rpartition(".")[2]: each for each in self.group(f"tiers.{tier}")
        }
        choices = [fields.pop(name) for name in _CHOICES if name in fields]
        switches = [fields.pop(name) for name in (HEDGED, DELEGATES)]
        return TierFields(choices, list(fields.values()), switches)

    def _offer_light(self, tier: TierName, version: PlannerVersion) -> None:
        light: list[tuple[str, StrOrPromise]] = [
            (
                TierPlanner.LIGHT,
                _("The light planner, version %(number)d") % {"number": version.number},
            ),
            (
                TierPlanner.CASCADE,
                _("The light planner; unsure, it asks the conductor"),
            ),
        ]
        self._choices(f"tiers.{tier}.planner", [*_PLANNERS[tier], *light])
        worth = answer_worth(_usual_worth(version))
        worth.widget.attrs["class"] = "input"
        self.fields[f"tiers.{tier}.answer_worth_usd"] = worth

    def _choices(self, name: str, choices: Iterable[tuple[str, StrOrPromise]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = list(choices)


@dataclass(frozen=True, slots=True)
class TierFields:
    """The fields of a tier."""

    choices: Sequence[BoundField]
    """Who plans, and how answers go out."""
    limits: Sequence[BoundField]
    switches: Sequence[BoundField]
    """What is on or off."""


@dataclass(frozen=True, slots=True)
class WorkerOption:
    """A worker that is in the pool, or could be."""

    worker: Worker
    is_chosen: bool
    may_take_over: bool
    """Means something for chosen ones; others begin with it."""


def pool_initial(pool: Pool, workers: Iterable[Worker]) -> dict[str, Any]:
    """Return a pool as its form shows it."""
    values = pool_values(pool)
    ids = (str(worker.id) for worker in workers)
    has_ultra = TierName.ULTRA.value in values["tiers"]
    if pool.conductor_id is None:
        # A default, not a choice: a conductor added in the form is to plan.
        for tier in values["tiers"].values():
            if not _is_light(tier["planner"]):
                tier["planner"] = TierPlanner.CONDUCTOR.value
    return {
        **_usual_tiers(),
        **flattened(values),
        "conductor_id": values["conductor_id"] or "",
        "substitute_ids": [key for key in ids if key not in values[SPARED]],
        "has_ultra": has_ultra,
        "version": pool.version,
    }


def new_pool_initial(
    workers: Sequence[Worker], conductors: Sequence[Conductor], *, is_first: bool
) -> dict[str, Any]:
    """Return what a new pool begins with: `workers`, those that are known to answer.

    The first of them is the fallback. Without any the person chooses.
    """
    return {
        "name": "main" if is_first else "",
        "is_default": is_first,
        "conductor_id": str(conductors[0].id) if conductors else "",
        "worker_ids": [str(worker.id) for worker in workers],
        "substitute_ids": [str(worker.id) for worker in workers],
        "fallback_id": str(workers[0].id) if workers else "",
        "has_ultra": bool(conductors),
        **_usual_tiers(),
    }


def moved(data: QueryDict, order: str) -> QueryDict:
    """Return what was sent with one worker moved.

    `order` is `up:` or `down:` and the worker's id; one that makes no sense changes
    nothing.
    """
    direction, _, key = order.partition(":")
    ids = data.getlist("worker_ids")
    changed = data.copy()
    if key in ids:
        old = ids.index(key)
        new = old + {"up": -1, "down": 1}.get(direction, 0)
        ids.insert(min(max(new, 0), len(ids) - 1), ids.pop(old))
        changed.setlist("worker_ids", ids)
    return changed


def _is_light(planner: str) -> bool:
    return TierPlanner(planner) is TierPlanner.LIGHT


def _usual_worth(version: PlannerVersion) -> StrOrPromise:
    """Return what a right answer is worth to a version if a tier does not say."""
    micros = version.answer_worth_micros
    if micros is None:
        return _("Empty: as much as 25 answers of the most expensive worker.")
    if micros >= MOST_MICROS:
        return _("Empty: cost does not count, as in the planner's training.")
    return _("Empty: as in the planner's training, $%(amount)s.") % {
        "amount": usd_text(micros)
    }


def _tier_fields(tier: TierName) -> Iterator[tuple[str, forms.Field]]:
    yield (
        "planner",
        forms.ChoiceField(
            label=_PLANNER_LABELS[tier],
            choices=_PLANNERS[tier],
            widget=forms.Select(attrs={"class": "input"}),
        ),
    )
    yield (
        "delivery",
        forms.ChoiceField(
            label=_("Delivery of answers"),
            choices=list(DELIVERIES.items()),
            widget=forms.Select(attrs={"class": "input"}),
        ),
    )
    limits: Mapping[str, forms.Field] = {
        "max_steps": whole_number(_("Steps"), required=True),
        "max_rounds": whole_number(_("Rounds of planning"), required=True),
        "max_parallel": whole_number(_("Calls at a time"), required=True),
        "max_calls": whole_number(_("Calls in all, with retries"), required=True),
        "wall_time_s": whole_number(_("Time, seconds"), required=True),
        "max_tokens": whole_number(_("Tokens in all")),
        "max_cost_usd": dollars(_("Cost limit (US dollars)")),
    }
    for name, field in limits.items():
        field.widget.attrs["class"] = "input"
        yield name, field
    yield (
        HEDGED,
        forms.BooleanField(
            label=_("Ask a second worker when the first is slow"),
            required=False,
            help_text=_(
                "If no token arrives by the 95th-percentile latency, a second "
                "worker is asked. Both calls are billed."
            ),
        ),
    )
    yield (
        DELEGATES,
        forms.BooleanField(
            label=_("Let a plan leave the rest to a worker"),
            required=False,
            help_text=_(
                "The worker of its last step plans what is left, within all "
                "limits. That is a round of planning, so it takes two."
            ),
        ),
    )


def _usual_tiers() -> dict[str, Any]:
    tiers = {
        name.value: {"planner": TierPlanner.CONDUCTOR.value, **limits}
        for name, limits in TIER_LIMITS.items()
    }
    return flattened({"tiers": tiers})
