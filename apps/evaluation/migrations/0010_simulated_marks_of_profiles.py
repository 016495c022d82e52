"""Gives profiles the mark that the evaluations have which made them."""

from django.db import migrations
from django.db.models import Q


def mark(apps, schema_editor):
    """Mark the profiles of evaluations that are simulated and still there."""
    Evaluation = apps.get_model("evaluation", "Evaluation")
    WorkerProfile = apps.get_model("pools", "WorkerProfile")
    simulated = Evaluation.objects.filter(
        Q(has_simulated_pool=True) | Q(version__suite__is_simulated=True)
    )
    WorkerProfile.objects.filter(evaluation_id__in=simulated.values("id")).update(
        is_simulated=True
    )


class Migration(migrations.Migration):

    dependencies = [
        ("evaluation", "0009_outcomes_of_verifiers"),
        ("pools", "0018_profiles_with_simulated_mark"),
    ]

    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
