"""The search index: codes of the words of prompts and answers, by team."""

import django.db.models.deletion
from django.db import migrations, models


def without_row_numbers(apps, schema_editor):
    """Let SQLite keep the words in their index alone, as they are read; half the size."""
    if schema_editor.connection.vendor == "sqlite":
        model = apps.get_model("runs", "SearchWord")
        schema_editor.delete_model(model)
        sql, params = schema_editor.table_sql(model)
        schema_editor.execute(f"{sql} WITHOUT ROWID", params or None)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_key_data_class'),
        ('runs', '0016_tiers_of_before'),
    ]

    operations = [
        migrations.CreateModel(
            name='SearchProgress',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='accounts.team')),
                ('from_seq', models.BigIntegerField()),
                ('through_seq', models.BigIntegerField()),
                ('erasures', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='SearchWord',
            fields=[
                ('pk', models.CompositePrimaryKey('team_id', 'word', 'run_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('word', models.BigIntegerField()),
                ('run_id', models.UUIDField()),
                ('team', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
            ],
        ),
        migrations.CreateModel(
            name='IndexedRun',
            fields=[
                ('run_id', models.UUIDField(primary_key=True, serialize=False)),
                ('words', models.BinaryField()),
                ('is_partial', models.BooleanField()),
                ('team', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('is_partial', True)), fields=['team', 'run_id'], name='run_indexed_in_part')],
            },
        ),
        migrations.RunPython(
            without_row_numbers, migrations.RunPython.noop, elidable=False
        ),
    ]
