from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("comparisons", "0001_comparisons")]

    operations = [
        migrations.AddField(
            model_name="comparison",
            name="has_same_prompt",
            field=models.BooleanField(default=True),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="comparisonvote",
            name="is_blind",
            field=models.BooleanField(default=False),
            preserve_default=False,
        ),
    ]
