

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0004_merkle_trees'),
    ]

    operations = [
        migrations.CreateModel(
            name='FullCheck',
            fields=[
                ('team_id', models.UUIDField(primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done')], max_length=8)),
                ('asked_by', models.JSONField(default=dict)),
                ('beat_at', models.DateTimeField()),
                ('claim_id', models.UUIDField(null=True)),
                ('entries', models.BigIntegerField(default=0)),
                ('total', models.BigIntegerField(default=0)),
                ('finished_at', models.DateTimeField(null=True)),
                ('report', models.JSONField(default=dict)),
            ],
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('action', 'step.started'), ('action', 'step.completed'), ('action', 'plan.requested'), ('action', 'plan.replied'), ('action', 'plan.accepted'), ('action', 'run.created'), ('action', 'run.completed'), ('action', 'policy.decided'), _connector='OR', _negated=True), fields=['team_id', 'action', 'seq'], name='audit_entry_rare_action'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('action', 'step.started'), ('action', 'step.completed'), ('action', 'plan.requested'), ('action', 'plan.replied'), ('action', 'plan.accepted'), ('action', 'run.created'), ('action', 'run.completed'), ('action', 'policy.decided'), _connector='OR', _negated=True), fields=['team_id', 'seq'], name='audit_entry_rare'),
        ),
    ]
