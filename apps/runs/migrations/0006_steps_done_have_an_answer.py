"""Leaves failed steps out of the count of steps that are done."""

from typing import Any

from django.db import migrations, models
from django.db.models import Count, F, OuterRef, Subquery


def leave_out_failed(apps: Any, schema_editor: Any) -> None:
    """Make `steps_done` the steps that have an answer; before, failed ones counted."""
    _with_failed(apps).filter(steps_done__gte=F("failed")).update(
        steps_done=F("steps_done") - F("failed")
    )


def count_failed(apps: Any, schema_editor: Any) -> None:
    """Count failed steps as done again."""
    _with_failed(apps).update(steps_done=F("steps_done") + F("failed"))


def _with_failed(apps: Any) -> Any:
    """Return the runs in which steps failed, with how many did.

    Through `_base_manager`: the change is for the rows of all teams.
    """
    runs, steps = (apps.get_model("runs", name)._base_manager for name in ("Run", "Step"))
    failed = steps.filter(state="failed")
    of_run = failed.filter(run_id=OuterRef("id")).order_by().values("run_id")
    return runs.filter(id__in=failed.values("run_id")).annotate(
        failed=Subquery(
            of_run.annotate(n=Count("id")).values("n"),
            output_field=models.IntegerField(),
        )
    )


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0005_usage_of_the_day_in_progress'),
    ]

    operations = [
        migrations.RunPython(leave_out_failed, count_failed),
    ]
