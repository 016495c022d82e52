"""Adds to the documents of versions the parameters that workers have had since.

Without it the next change of a team would count up each of its pools, and comparing
versions would tell of changes nobody made.
"""

from django.db import migrations

WORKER = {
    "extra_params": [],
    "reasoning_effort": "",
    "thinking_budget_tokens": None,
    "extra_body": "",
}
BATCH = 200


def complete_all(apps, schema_editor):
    rows = apps.get_model("pools", "PoolVersion").objects.all()
    batch = []
    for row in rows.iterator(chunk_size=BATCH):
        workers = [{**WORKER, **worker} for worker in row.document["workers"]]
        row.document = {**row.document, "workers": workers}
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["document"])
            batch = []
    rows.bulk_update(batch, ["document"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0006_worker_parameters")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(complete_all, migrations.RunPython.noop)]
