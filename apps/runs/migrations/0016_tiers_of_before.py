"""Notes what the models of older runs ask for, so that lists can be filtered by it."""

from django.db import migrations
from django.db.models import Case, Q, Value, When


def note(apps, schema_editor):
    runs = apps.get_model("runs", "Run").objects.filter(tier="")
    direct = Q(model__startswith="worker/") | Q(model__contains="/worker/")
    runs.update(
        tier=Case(
            When(direct, then=Value("direct")),
            When(Q(model="conductor-mini") | Q(model__endswith="/mini"), then=Value("mini")),
            When(Q(model="conductor-ultra") | Q(model__endswith="/ultra"), then=Value("ultra")),
            default=Value(""),
        )
    )


class Migration(migrations.Migration):

    dependencies = [("runs", "0015_families_tiers_and_shapes")]

    operations = [migrations.RunPython(note, migrations.RunPython.noop, elidable=True)]
