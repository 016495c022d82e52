"""Adds to the documents of versions what each conductor did not show: measurements.

Without it the next change of a team would count up each of its pools, and comparing
versions would tell of changes nobody made.
"""

from django.db import migrations

BATCH = 200


def complete_all(apps, schema_editor):
    rows = apps.get_model("pools", "PoolVersion").objects.all()
    batch = []
    for row in rows.iterator(chunk_size=BATCH):
        conductor = row.document["conductor"]
        if conductor is None:
            continue
        completed = {"shows_measurements": False, **conductor}
        row.document = {**row.document, "conductor": completed}
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["document"])
            batch = []
    rows.bulk_update(batch, ["document"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0014_worker_profiles")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(complete_all, migrations.RunPython.noop)]
