"""What people send to import a suite and to start an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms

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

MAX_FILE_BYTES = 50 * 1024 * 1024
EXPLORATION = "exploration"
"""The system that runs training tasks, so that planners learn from them."""
COST_HELP = "No run begins that could exceed it. Every worker needs a price then."


class SuiteForm(ConsoleForm):
    """A file of tasks and the name of their suite."""

    name = forms.CharField(
        max_length=NAME_LENGTH,
        help_text="A name that is there already gets a new version.",
    )
    file = forms.FileField(
        help_text="JSON Lines (.jsonl), CSV with the columns prompt and answer, or "
        "Parquet (.parquet)."
    )

    benchmark = forms.ChoiceField(
        label="Format",
        required=False,
        choices=[
            ("", "One task a line, as described below"),
            *((name, f"{name.upper()}, as published") for name in sorted(READERS)),
        ],
    )

    def clean_file(self) -> Any:
        """Refuse files that are too large to be read at once."""
        file = self.cleaned_data["file"]
        if file.size > MAX_FILE_BYTES:
            raise forms.ValidationError(
                f"The file is larger than {MAX_FILE_BYTES >> 20} MiB."
            )
        return file


def _version_field() -> forms.IntegerField:
    return forms.IntegerField(
        label="Version of the suite",
        required=False,
        min_value=1,
        help_text="Empty: the newest one.",
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
    field.choices = [("", "None"), *choices]


def _count(label: str, least: int, most: int, words: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        required=False,
        help_text=words,
    )


class EvaluationForm(ConsoleForm):
    """Which systems run on which suite; the page asks for suite and pool first."""

    suite = forms.ChoiceField(widget=forms.HiddenInput)
    suite_version = _version_field()
    pool = forms.ChoiceField(widget=forms.HiddenInput)
    systems = forms.MultipleChoiceField(
        choices=[(choice.value, choice.words) for choice in PAGE_CHOICES],
        initial=[choice.value for choice in PAGE_CHOICES if choice.is_usual],
        widget=forms.CheckboxSelectMultiple,
    )
    worker = forms.ChoiceField(
        label="Chosen worker",
        help_text="Reflects on its own answers, aggregates those of the others, and is "
        "the strong one of a cascade.",
    )
    turns = _count(
        "Turns of self-reflection", 2, 10, "Calls in all, the first answer included."
    )
    proposals = _count(
        "Workers that propose in a mixture",
        2,
        20,
        "The first ones of the pool. Empty: as many as tier ultra has steps for.",
    )
    cheap = forms.ChoiceField(
        label="Cheap worker",
        required=False,
        help_text="Of a cascade: answers several times, and is sure if the answers "
        "agree.",
    )
    samples = _count("Answers of the cheap worker", 2, 10, "To learn from. Empty: 3.")
    measured = forms.ChoiceField(
        label="Measured by",
        required=False,
        help_text="An evaluation of single workers on other tasks, such as the "
        "training tasks. A cascade learns from one that also ran several answers of "
        "the cheap worker.",
    )
    plans = _count(
        "Plans of an exploration", 1, 50, "For each training task. Empty: 1."
    )
    rounds = _count(
        "Rounds of the conductor",
        0,
        10,
        "Plans of a run, be it more than the tier allows. 0: nobody plans, and the "
        "fallback worker answers. Empty: as the tier says.",
    )
    conductor = forms.ChoiceField(
        label="Also with another conductor",
        required=False,
        help_text="The chosen tiers run twice: as they are, and with this conductor "
        "in the place of what plans for them.",
    )
    pool_version = forms.ChoiceField(
        label="Also with an earlier version of the pool",
        required=False,
        help_text="The chosen tiers run twice: with the present pool, and with this "
        "version of it.",
    )
    grader = forms.ChoiceField(
        required=False,
        help_text="Judges answers to tasks with a rubric. Other tasks need none.",
    )
    max_tasks = forms.IntegerField(
        label="Tasks",
        min_value=1,
        max_value=20_000,
        initial=120,
        required=False,
        help_text="Drawn equally from each family. Empty: all.",
    )
    max_cost = dollars("Cost limit in US dollars", required=False)
    parallel_runs = forms.IntegerField(
        label="Runs at the same time", min_value=1, max_value=64, initial=8
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**31 - 1, initial=0, help_text="Draws tasks and plans."
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

    def clean(self) -> dict[str, Any]:
        """Refuse systems that lack a field which they need, or run other tasks."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        if self._explores and len(self._chosen()) > 1:
            self.add_error(
                "systems", "An exploration runs other tasks: choose it alone."
            )
        for choice in self._chosen():
            for name in choice.needs:
                if name not in self.errors and given.get(name) in (None, ""):
                    self.add_error(name, f"Needed by: {choice.words}.")
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

    suite = forms.ChoiceField()
    suite_version = _version_field()
    workers = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)
    tasks_per_family = forms.IntegerField(
        label="Tasks of each family",
        min_value=1,
        max_value=200,
        initial=TASKS_PER_FAMILY,
        help_text="Training tasks, as far as the suite has them. Fewer than 20 leave "
        "wide intervals.",
    )
    max_cost = dollars("Cost limit in US dollars", required=False)
    parallel_runs = forms.IntegerField(
        label="Runs at the same time", min_value=1, max_value=64, initial=8
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
