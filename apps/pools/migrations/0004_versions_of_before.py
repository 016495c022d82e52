"""Adds to the documents of versions what every pool has had since.

Without it the next change of a team would count up each of its pools, and comparing
versions would tell of changes nobody made.
"""

from django.db import migrations

WORKER = {
    "accepts_images": False,
    "accepts_tools": True,
    "accepts_prefill": False,
    "may_substitute": True,
}
CONDUCTOR = {"protocol": "openai", "context_tokens": None}
TIER = {"delivery": "live", "is_hedged": False}
BATCH = 200


def complete(document):
    conductor = document["conductor"]
    return {
        **document,
        "conductor": conductor and {**CONDUCTOR, **conductor},
        "workers": [{**WORKER, **worker} for worker in document["workers"]],
        "tiers": {
            name: {**TIER, **tier} for name, tier in document["tiers"].items()
        },
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
    dependencies = [("pools", "0003_protocols_and_abilities")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(complete_all, migrations.RunPython.noop)]
