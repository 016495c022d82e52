"""Adds to the documents of versions what they lack now: the usual values.

The prompt of each conductor is the full one, and no tier lets plans leave the rest to a
worker. Without it the next change of a team would count up each of its pools, and
comparing versions would tell of changes nobody made.
"""

from django.db import migrations

BATCH = 200
OF_CONDUCTORS = {"prompt_style": "full"}
OF_TIERS = {"allows_delegation": False}


def completed(document):
    tiers = {name: {**OF_TIERS, **tier} for name, tier in document["tiers"].items()}
    if conductor := document.get("conductor"):
        conductor = {**OF_CONDUCTORS, **conductor}
    return {**document, "conductor": conductor, "tiers": tiers}


def complete_all(apps, schema_editor):
    rows = apps.get_model("pools", "PoolVersion").objects.all()
    batch = []
    for row in rows.iterator(chunk_size=BATCH):
        row.document = completed(row.document)
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["document"])
            batch = []
    rows.bulk_update(batch, ["document"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0022_tiers_may_delegate")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(complete_all, migrations.RunPython.noop)]
