"""The data class of what a share link shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apps.conversations.history import prompt_of
from apps.core.data_classes import DataClassName, data_class_read, highest
from apps.governance.policies.run_facts import patterns_of
from apps.governance.selectors import policy_in_force
from apps.governance.sensitive_data.classification import classify
from apps.runs.models import Run
from apps.runs.records.run_view import RunView
from apps.runs.selectors import record_of, run_view


def shared_class(runs: Iterable[Run], *, has_plan: bool) -> DataClassName:
    """Return the highest class of what was stated and what is found in some runs.

    `has_plan`: texts of their steps are shown too. Looks for what the site's and the
    team's policies define as well. Blocks; it reads every text.
    """
    return highest(_run_class(run, has_plan) for run in runs)


def _run_class(run: Run, has_plan: bool) -> DataClassName:
    record, view = record_of(run), run_view(run)
    decided = (each.data_class for each in view.policy_decisions if each.data_class)
    stated = [
        data_class_read(name, param="data_class")
        for name in (*record.stated_classes, *decided)
    ]
    policies = policy_in_force(None), policy_in_force(run.team_id)
    texts = [prompt_of(record), view.answer or ""]
    if has_plan:
        texts += _texts_of_steps(view)
    return classify(texts, stated, patterns_of(policies)).data_class


def _texts_of_steps(view: RunView) -> Iterator[str]:
    for step in view.steps:
        yield step.subtask or ""
        yield step.text or ""
