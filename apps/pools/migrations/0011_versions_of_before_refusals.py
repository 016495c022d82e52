"""Adds to the documents of versions what every pool has had since 0010.

Without it the next change of a team would count up each of its pools, and comparing
versions would tell of changes nobody made.
"""

from django.db import migrations

BATCH = 200


def complete_model(model):
    timeouts = {"first_token_s": None, **model["timeouts"]}  # nosec B105
    return {**model, "timeouts": timeouts}


def complete(document):
    conductor = document["conductor"]
    return {
        "retries_refusals": False,
        **document,
        "conductor": conductor and complete_model(conductor),
        "workers": [complete_model(worker) for worker in document["workers"]],
    }


def complete_all(apps, schema_editor):
    rows = apps.get_model("pools", "PoolVersion").objects.all()
    batch = []
    for row in rows.iterator(chunk_size=BATCH):
        row.document = complete(row.document)
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["document"])
            batch = []
    rows.bulk_update(batch, ["document"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0010_refusals_and_first_token")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(complete_all, migrations.RunPython.noop)]
