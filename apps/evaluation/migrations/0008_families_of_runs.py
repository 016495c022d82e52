"""Gives runs of older evaluations the families of their tasks."""

from django.db import migrations

ROWS = 500


def note(apps, schema_editor):
    runs = apps.get_model("runs", "Run").objects
    results = apps.get_model("evaluation", "EvaluationResult").objects
    rows = results.order_by("task__family")
    families = rows.values_list("task__family", flat=True).distinct()
    for family in list(families):
        ids = list(rows.filter(task__family=family).values_list("run_id", flat=True))
        for start in range(0, len(ids), ROWS):
            runs.filter(id__in=ids[start : start + ROWS], family="").update(family=family)


class Migration(migrations.Migration):

    dependencies = [
        ("evaluation", "0007_production_outcomes"),
        ("runs", "0015_families_tiers_and_shapes"),
    ]

    operations = [migrations.RunPython(note, migrations.RunPython.noop, elidable=True)]
