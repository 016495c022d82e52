"""What people send to import a suite and to start an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.forms.boundfield import BoundWidget
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_lazy as _

from apps.console.forms.base import ConsoleForm
from apps.console.forms.numbers import dollars
from apps.core.money import MICROS
from apps.evaluation.calibration import TASKS_PER_FAMILY, calibration_values
from apps.evaluation.models import NAME_LENGTH, SuiteVersion
from apps.evaluation.suites.benchmarks import READERS
from apps.evaluation.systems.short_names import (
    PAGE_CHOICES,
    PageChoice,
    systems_named,
)
from apps.pools.types import PoolSnapshot

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

MAX_FILE_BYTES = 50 * 1024 * 1024
EXPLORATION = "exploration"
"""The system that runs training tasks, so that planners learn from them."""
COST_HELP = _("No run begins that could exceed it. Every worker needs a price then.")


def _as_published(benchmark: str) -> Any:
    return format_lazy(_("{name}, as published"), name=benchmark.upper())


class SuiteForm(ConsoleForm):
    """A file of tasks and the name of their suite."""

    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_LENGTH,
        help_text=_("A name that is there already gets a new version."),
    )
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "JSON Lines (.jsonl), CSV with the columns prompt and answer, or "
            "Parquet (.parquet)."
        ),
    )

    benchmark = forms.ChoiceField(
        label=_("Format"),
        required=False,
        choices=[
            ("", _("One task a line, as described below")),
            *((name, _as_published(name)) for name in sorted(READERS)),
        ],
    )

    def clean_file(self) -> Any:
        """Refuse files that are too large to be read at once."""
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            said = _("The file is larger than {size} MiB.")
            raise forms.ValidationError(said.format(size=MAX_FILE_BYTES >> 20))
        return file


def _version_field() -> forms.IntegerField:
    return forms.IntegerField(
        label=_("Version of the suite"),
        required=False,
        min_value=1,
        help_text=_("Empty: the newest one."),
    )


def _offer(form: ConsoleForm, name: str, choices: Sequence[str]) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = [(choice, choice) for choice in choices]


def _offer_or_none(
    form: ConsoleForm, name: str, choices: Sequence[tuple[str, str]]
) -> None:
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = [("", _("None")), *choices]


def _count(
    label: StrOrPromise, least: int, most: int, words: StrOrPromise
) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        required=False,
        help_text=words,
    )


PRODUCT_SYSTEMS = ("conductor:", "workers")
"""Beginnings of the short names of tiers and single workers."""


def _is_of_product(option: BoundWidget) -> bool:
    return str(option.data["value"]).startswith(PRODUCT_SYSTEMS)


class EvaluationForm(ConsoleForm):
    """Which systems run on which suite; the page asks for suite and pool first."""

    suite = forms.ChoiceField(widget=forms.HiddenInput)
    suite_version = _version_field()
    pool = forms.ChoiceField(widget=forms.HiddenInput)
    systems = forms.MultipleChoiceField(
        label=_("Systems"),
        choices=[(choice.value, gettext_lazy(choice.words)) for choice in PAGE_CHOICES],
        initial=[choice.value for choice in PAGE_CHOICES if choice.is_usual],
        widget=forms.CheckboxSelectMultiple,
    )
    worker = forms.ChoiceField(
        label=_("Chosen worker"),
        help_text=_(
            "Reflects on its own answers, aggregates those of the others, and is "
            "the strong one of a cascade."
        ),
    )
    turns = _count(
        _("Turns of self-reflection"),
        2,
        10,
        _("Calls in all, the first answer included."),
    )
    proposals = _count(
        _("Workers that propose in a mixture"),
        2,
        20,
        _("The first ones of the pool. Empty: as many as tier ultra has steps for."),
    )
    cheap = forms.ChoiceField(
        label=_("Cheap worker"),
        required=False,
        help_text=_(
            "Of a cascade: answers several times, and is sure if the answers agree."
        ),
    )
    samples = _count(
        _("Answers of the cheap worker"), 2, 10, _("To learn from. Empty: 3.")
    )
    measured = forms.ChoiceField(
        label=_("Measured by"),
        required=False,
        help_text=_(
            "An evaluation of single workers on other tasks, such as the training "
            "tasks. A cascade learns from one that also ran several answers of the "
            "cheap worker."
        ),
    )
    plans = _count(
        _("Plans of an exploration"), 1, 50, _("For each training task. Empty: 1.")
    )
    rounds = _count(
        _("Rounds of the conductor"),
        0,
        10,
        _(
            "Plans of a run, be it more than the tier allows. 0: nobody plans, and the "
            "fallback worker answers. Empty: as the tier says."
        ),
    )
    conductor = forms.ChoiceField(
        label=_("Also with another conductor"),
        required=False,
        help_text=_(
            "The chosen tiers run twice: as they are, and with this conductor "
            "in the place of what plans for them."
        ),
    )
    pool_version = forms.ChoiceField(
        label=_("Also with an earlier version of the pool"),
        required=False,
        help_text=_(
            "The chosen tiers run twice: with the present pool, and with this "
            "version of it."
        ),
    )
    grader = forms.ChoiceField(
        label=_("Grader"),
        required=False,
        help_text=_("Judges answers to tasks with a rubric. Other tasks need none."),
    )
    max_tasks = forms.IntegerField(
        label=_("Tasks"),
        min_value=1,
        max_value=20_000,
        initial=120,
        required=False,
        help_text=_("Drawn equally from each family. Empty: all."),
    )
    max_cost = dollars(_("Cost limit (US dollars)"), required=False)
    parallel_runs = forms.IntegerField(
        label=_("Runs at the same time"), min_value=1, max_value=64, initial=8
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        initial=0,
        help_text=_("Draws tasks and plans."),
    )
    error_names: ClassVar[dict[str, str]] = {
        "max_cost_micros": "max_cost",
        "families": "suite",
    }
    folded: ClassVar[tuple[str, ...]] = (
        "turns",
        "proposals",
        "cheap",
        "samples",
        "measured",
        "plans",
        "rounds",
        "conductor",
        "pool_version",
        "suite_version",
        "grader",
        "parallel_runs",
        "seed",
    )

    def __init__(
        self,
        *args: Any,
        suites: Sequence[str],
        pools: Sequence[str],
        workers: Sequence[str],
        conductors: Sequence[str] = (),
        measured: Sequence[tuple[str, str]] = (),
        pool_versions: Sequence[tuple[str, str]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["max_cost"].help_text = COST_HELP
        for name, choices in (("suite", suites), ("pool", pools), ("worker", workers)):
            _offer(self, name, choices)
        for name, names in (
            ("grader", workers),
            ("cheap", workers),
            ("conductor", conductors),
        ):
            _offer_or_none(self, name, [(each, each) for each in names])
        _offer_or_none(self, "measured", measured)
        _offer_or_none(self, "pool_version", pool_versions)

    @property
    def product_options(self) -> list[BoundWidget]:
        """Return the systems that most people compare: tiers and single workers."""
        return [each for each in self["systems"] if _is_of_product(each)]

    @property
    def research_options(self) -> list[BoundWidget]:
        """Return the baselines of research; pages show them on demand."""
        return [each for each in self["systems"] if not _is_of_product(each)]

    @property
    def research_chosen(self) -> int:
        """Return how many baselines of research are chosen."""
        return sum(1 for each in self.research_options if each.data["selected"])

    def clean(self) -> dict[str, Any]:
        """Refuse systems that lack a field which they need, or run other tasks."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self._explores and len(self._chosen()) > 1:
            self.add_error(
                "systems", _("An exploration runs other tasks: choose it alone.")
            )
        for choice in self._chosen():
            for name in choice.needs:
                if name not in self.errors and given.get(name) in (None, ""):
                    said = gettext("Needed by: {system}.")
                    self.add_error(name, said.format(system=gettext(choice.words)))
        return given

    def _chosen(self) -> list[PageChoice]:
        chosen = self.cleaned_data.get("systems", ())
        return [choice for choice in PAGE_CHOICES if choice.value in chosen]

    @property
    def _explores(self) -> bool:
        return any(choice.value == EXPLORATION for choice in self._chosen())

    def values(self, snapshot: PoolSnapshot) -> dict[str, Any]:
        """Return the settings for the chosen pool."""
        given = self.cleaned_data
        cost = given["max_cost"]
        names = [n for choice in self._chosen() for n in choice.short_names(given)]
        found = {
            "pool": given["pool"],
            "systems": systems_named(names, snapshot),
            "split": "training" if self._explores else None,
            "max_tasks": given["max_tasks"],
            "max_cost_micros": cost and int(cost * MICROS),
            "parallel_runs": given["parallel_runs"],
            "seed": given["seed"],
            "grader": given["grader"] or None,
        }
        return {name: value for name, value in found.items() if value is not None}


class CalibrationForm(ConsoleForm):
    """Which workers are measured on which suite."""

    suite = forms.ChoiceField(label=_("Suite"))
    suite_version = _version_field()
    workers = forms.MultipleChoiceField(
        label=_("Workers"), widget=forms.CheckboxSelectMultiple
    )
    tasks_per_family = forms.IntegerField(
        label=_("Tasks of each family"),
        min_value=1,
        max_value=200,
        initial=TASKS_PER_FAMILY,
        help_text=_(
            "Training tasks, as far as the suite has them. Fewer than 20 leave "
            "wide intervals."
        ),
    )
    max_cost = dollars(_("Cost limit (US dollars)"), required=False)
    parallel_runs = forms.IntegerField(
        label=_("Runs at the same time"), min_value=1, max_value=64, initial=8
    )
    error_names: ClassVar[dict[str, str]] = {
        "max_cost_micros": "max_cost",
        "families": "suite",
        "systems": "workers",
    }

    def __init__(
        self, *args: Any, suites: Sequence[str], workers: Sequence[str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["max_cost"].help_text = COST_HELP
        _offer(self, "suite", suites)
        _offer(self, "workers", workers)

    def values(self, version: SuiteVersion, pool: str) -> dict[str, Any]:
        """Return the settings for workers of a pool."""
        given = self.cleaned_data
        cost = given["max_cost"]
        limits = {"max_cost_micros": int(cost * MICROS)} if cost else {}
        return calibration_values(
            version,
            pool=pool,
            workers=given["workers"],
            tasks_per_family=given["tasks_per_family"],
            parallel_runs=given["parallel_runs"],
            **limits,
        )
