"""The search index in blocks: what was indexed goes, and is indexed again."""

import django.db.models.deletion
from django.db import migrations, models


def begin_anew(apps, schema_editor):
    """Forget how far the index was: the site then makes it, from the newest run on."""
    apps.get_model("runs", "SearchProgress").objects.all().delete()


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_key_data_class'),
        ('runs', '0020_presets_of_runs'),
    ]

    operations = [
        migrations.RunPython(begin_anew, begin_anew, elidable=False),
        migrations.DeleteModel(name='SearchWord'),
        migrations.DeleteModel(name='IndexedRun'),
        migrations.AddField(
            model_name='searchprogress',
            name='runs',
            field=models.BigIntegerField(default=0),
        ),
        migrations.CreateModel(
            name='IndexedRun',
            fields=[
                ('run_id', models.UUIDField(primary_key=True, serialize=False)),
                ('number', models.BigIntegerField()),
                ('words', models.BinaryField()),
                ('is_partial', models.BooleanField()),
                ('team', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('is_partial', True)), fields=['team', 'run_id'], name='run_indexed_in_part')],
                'constraints': [models.UniqueConstraint(fields=('team', 'number'), name='indexed_run_has_a_number')],
            },
        ),
        migrations.CreateModel(
            name='SearchBlock',
            fields=[
                ('pk', models.CompositePrimaryKey('team_id', 'level', 'bucket', 'block', blank=True, editable=False, primary_key=True, serialize=False)),
                ('level', models.PositiveSmallIntegerField()),
                ('bucket', models.PositiveSmallIntegerField()),
                ('block', models.BigIntegerField()),
                ('postings', models.BinaryField()),
                ('team', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
            ],
        ),
    ]
