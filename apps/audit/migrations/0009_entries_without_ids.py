from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Nothing looks entries up by their ids, which are in their bytes all the same."""

    dependencies = [("audit", "0008_entries_compressed")]

    operations = [migrations.RemoveField("entry", "id")]
