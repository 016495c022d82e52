"""Renames what cost weighed in systems of evaluations, and leaves out the usual.

A right answer has a worth in money now. What weighed otherwise is kept for the names of
systems, which are told apart by it; their plans were made.
"""

from django.db import migrations

BATCH = 200
OLD, NEW = "cost_weight_percent", "former_cost_weight"
USUAL = 4


def renamed(settings):
    """Return the settings of an evaluation with the new name."""
    return {**settings, "systems": [_renamed(each) for each in settings["systems"]]}


def _renamed(system):
    if OLD not in system:
        return system
    rest = {name: value for name, value in system.items() if name != OLD}
    return rest if system[OLD] == USUAL else {**rest, NEW: system[OLD]}


def rename_all(apps, schema_editor):
    rows = apps.get_model("evaluation", "Evaluation").objects.all()
    batch = []
    for row in rows.only("settings").iterator(chunk_size=BATCH):
        row.settings = renamed(row.settings)
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["settings"])
            batch = []
    rows.bulk_update(batch, ["settings"])


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0013_imported_evaluations")]

    # Backwards nothing is to be undone but by hand: the code of before refuses the new
    # name, which only evaluations with an unusual weight have.
    operations = [migrations.RunPython(rename_all, migrations.RunPython.noop)]
