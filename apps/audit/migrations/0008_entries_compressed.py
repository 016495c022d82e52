from __future__ import annotations

from django.db import migrations

from apps.audit.storage.compression import EntryBytesField


class Migration(migrations.Migration):
    """Entries are compressed from now on; those that are there stay as they are."""

    dependencies = [("audit", "0007_export_bundles")]

    operations = [
        # The column is the same: SQLite would copy the whole ledger for nothing.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("entry", "canonical", EntryBytesField())
            ]
        )
    ]
