"""Runs that began in the chat are called so; the stored word stays."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0021_search_blocks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='run',
            name='source',
            field=models.CharField(choices=[('playground', 'Chat'), ('api', 'API'), ('rest', 'REST API'), ('evaluation', 'Evaluation'), ('shadow', 'Shadow test')], max_length=10),
        ),
    ]
