"""Whose subtasks a page compares; all of it lives in the address."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.http import QueryDict

from apps.pools.selectors import pool_list, worker_list


class SubtasksForm(forms.Form):
    """A pool, and filters of its runs and steps; what makes no sense is ignored."""

    pool = forms.ChoiceField(required=False)
    family = forms.CharField(required=False, max_length=60)
    worker = forms.ChoiceField(required=False)

    def __init__(self, team_id: UUID, data: QueryDict) -> None:
        super().__init__(data)
        pools = pool_list(team_id).order_by("-is_default", "name")
        self.pools = list(pools.values_list("name", flat=True))
        workers = worker_list(team_id).order_by("name")
        self.workers = list(workers.values_list("name", flat=True))
        self._choose("pool", self.pools)
        self._choose("worker", self.workers)
        self.is_valid()

    def _choose(self, name: str, values: list[str]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(value, value) for value in values]

    @property
    def chosen_pool(self) -> str:
        """Return the pool; empty: the team has none."""
        found: str = self.cleaned_data.get("pool", "")
        return found or next(iter(self.pools), "")

    @property
    def chosen_family(self) -> str | None:
        """Return the family of the runs; None: all."""
        return self.cleaned_data.get("family") or None

    @property
    def chosen_worker(self) -> str:
        """Return the worker of the steps; empty: all."""
        found: str = self.cleaned_data.get("worker", "")
        return found
