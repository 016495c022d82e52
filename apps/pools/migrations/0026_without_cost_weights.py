"""Removes what cost weighed, which is what a right answer is worth now."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("pools", "0025_worths_of_cost_weights")]

    operations = [migrations.RemoveField(model_name="tier", name="cost_weight_percent")]
