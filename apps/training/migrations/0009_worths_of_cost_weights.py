"""Turns what cost weighed in the settings of trainings into what an answer is worth.

With 0 % cost did not count, and with the highest worth it does not count either. Any
other percentage goes: then a version gets the usual worth. Such a percentage became
money only with the prices and the fit of its day, and what came of it stands in the
measurement of the version.
"""

from django.db import migrations

OLD, NEW = "cost_weight_percent", "answer_worth_micros"
MOST_MICROS = 10_000_000_000
BATCH = 200


def turned(settings):
    """Return the settings of a training with a worth."""
    if OLD not in settings:
        return settings
    rest = {name: value for name, value in settings.items() if name != OLD}
    return {**rest, NEW: MOST_MICROS if settings[OLD] == 0 else None}


def turn_all(apps, schema_editor):
    for name in ("Training", "ConductorTraining"):
        rows = apps.get_model("training", name).objects.all()
        for row in rows.only("settings").iterator(chunk_size=BATCH):
            row.settings = turned(row.settings)
            row.save(update_fields=["settings"])


class Migration(migrations.Migration):
    dependencies = [("training", "0008_gate_verdicts")]

    # Backwards nothing is to be undone but by hand: the code of before refuses a name
    # that it does not know, in trainings that have not ended.
    operations = [migrations.RunPython(turn_all, migrations.RunPython.noop)]
