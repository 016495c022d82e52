"""Turns what cost weighed, in percent, into what a right answer is worth, in money.

The usual 4 % becomes NULL: as the planner was trained. With 0 % cost did not count, and
with the highest worth it does not count either. Any other percentage said how much
success one answer of the dearest worker had to be worth, so it becomes money by the
prices of today, for an answer of 300 tokens to a prompt of 200. It becomes NULL where
no price is known: there it had no effect.

Documents of pool versions are turned in the same way, by the pool of today. Without it
the next change of a team would count up each of its pools, and comparing versions would
tell of changes nobody made.
"""

import datetime as dt
from decimal import Decimal

from django.db import migrations

BATCH = 200
OLD, NEW = "cost_weight_percent", "answer_worth_usd"
USUAL = 4
MOST_MICROS = 10_000_000_000
READ, WRITTEN = 200, 300
MILLION = 1_000_000


def worth(percent, dearest_micros):
    """Return the worth of a right answer in micro-dollars; None: as trained."""
    if percent == USUAL:
        return None
    if percent == 0:
        return MOST_MICROS
    if not dearest_micros:
        return None
    return min(MOST_MICROS, max(1, round(100 * dearest_micros / percent)))


def turned(document, dearest_micros):
    """Return a version's document with the worths of its tiers."""
    tiers = {
        name: _turned_tier(tier, dearest_micros)
        for name, tier in document["tiers"].items()
    }
    return {**document, "tiers": tiers}


def _turned_tier(tier, dearest_micros):
    if OLD not in tier:
        return {NEW: None, **tier}
    micros = worth(tier[OLD], dearest_micros)
    rest = {name: value for name, value in tier.items() if name != OLD}
    return {**rest, NEW: None if micros is None else _dollars(micros)}


def _dollars(micros):
    return f"{(Decimal(micros) / MILLION).normalize():f}"


def dearest_answers(apps):
    """Return what an answer of the dearest worker costs today, by pool."""
    today = dt.datetime.now(dt.UTC).date()
    prices = apps.get_model("pools", "Price").objects.filter(
        worker__isnull=False, valid_from__lte=today
    )
    costs = {}
    for row in prices.order_by("valid_from").iterator():
        cost = READ * row.input_micros + WRITTEN * row.output_micros
        costs[row.worker_id] = cost / MILLION
    dearest = {}
    for place in apps.get_model("pools", "PoolWorker").objects.iterator():
        cost = costs.get(place.worker_id, 0)
        dearest[place.pool_id] = max(cost, dearest.get(place.pool_id, 0))
    return dearest


def turn_all(apps, schema_editor):
    dearest = dearest_answers(apps)
    tiers = apps.get_model("pools", "Tier").objects
    for tier in tiers.exclude(cost_weight_percent=USUAL):
        micros = worth(tier.cost_weight_percent, dearest.get(tier.pool_id))
        tier.answer_worth_micros = micros
        tier.save(update_fields=["answer_worth_micros"])
    rows = apps.get_model("pools", "PoolVersion").objects.all()
    batch = []
    for row in rows.iterator(chunk_size=BATCH):
        row.document = turned(row.document, dearest.get(row.pool_id))
        batch.append(row)
        if len(batch) == BATCH:
            rows.bulk_update(batch, ["document"])
            batch = []
    rows.bulk_update(batch, ["document"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0024_worth_of_answers")]

    # Backwards nothing is to be undone: readers of before ignore what they don't know.
    operations = [migrations.RunPython(turn_all, migrations.RunPython.noop)]
