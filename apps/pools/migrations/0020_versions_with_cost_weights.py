"""Adds to the documents of versions what cost weighs for light planners: the usual.

Without it the next change of a team would count up each of its pools, and comparing
versions would tell of changes nobody made.
"""

from django.db import migrations

BATCH = 200
USUAL = {"cost_weight_percent": 4}


def complete_all(apps, schema_editor):
    rows = apps.get_model("pools", "PoolVersion").objects.all()
    batch = []
    for row in rows.iterator(chunk_size=BATCH):
        tiers = row.document["tiers"]
        row.document = {
            **row.document,
            "tiers": {name: {**USUAL, **tier} for name, tier in tiers.items()},
        }
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["document"])
            batch = []
    rows.bulk_update(batch, ["document"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0019_light_planners")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(complete_all, migrations.RunPython.noop)]
