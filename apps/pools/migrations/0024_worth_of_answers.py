"""Adds what a right answer is worth to the light planner of a tier."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pools", "0023_versions_with_styles_and_delegation")]

    operations = [
        migrations.AddField(
            model_name="tier",
            name="answer_worth_micros",
            field=models.PositiveBigIntegerField(blank=True, null=True),
        ),
    ]
