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
from apps.evaluation.systems.short_names import systems_named
from apps.pools.types import PoolSnapshot

MAX_FILE_BYTES = 50 * 1024 * 1024
SYSTEMS = {
    "conductor:ultra": "Conductor, tier ultra",
    "conductor:mini": "Conductor, tier mini",
    "workers": "Each worker alone",
    "self-reflection": "Self-reflection of the chosen worker, 5 calls",
    "moa": "Mixture of agents, aggregated by the chosen worker",
    "random-plan": "Random plan",
}
COST_HELP = "No run begins that could exceed it. Every worker needs a price then."
USUAL = ("conductor:ultra", "workers", "self-reflection", "moa", "random-plan")


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


class EvaluationForm(ConsoleForm):
    """Which systems run on which suite."""

    suite = forms.ChoiceField()
    suite_version = _version_field()
    pool = forms.ChoiceField()
    systems = forms.MultipleChoiceField(
        choices=list(SYSTEMS.items()),
        initial=USUAL,
        widget=forms.CheckboxSelectMultiple,
    )
    worker = forms.ChoiceField(
        label="Chosen worker",
        help_text="Reflects on its own answers, and aggregates those of the others.",
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

    def __init__(
        self,
        *args: Any,
        suites: Sequence[str],
        pools: Sequence[str],
        workers: Sequence[str],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["max_cost"].help_text = COST_HELP
        for name, choices in (("suite", suites), ("pool", pools), ("worker", workers)):
            _offer(self, name, choices)
        grader = self.fields["grader"]
        assert isinstance(grader, forms.ChoiceField)
        grader.choices = [("", "None"), *((worker, worker) for worker in workers)]

    def values(self, snapshot: PoolSnapshot) -> dict[str, Any]:
        """Return the settings for the chosen pool."""
        given = self.cleaned_data
        cost = given["max_cost"]
        named = {"self-reflection", "moa"}
        names = [
            f"{system}:{given['worker']}" if system in named else system
            for system in given["systems"]
        ]
        found = {
            "pool": given["pool"],
            "systems": systems_named(names, snapshot),
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
