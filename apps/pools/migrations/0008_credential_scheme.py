"""Gives credentials a column for the scheme they may be sent by."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pools", "0007_versions_with_parameters")]

    operations = [
        migrations.RemoveConstraint(
            model_name="credential", name="credential_is_unique"
        ),
        migrations.AddField(
            model_name="credential",
            name="scheme",
            field=models.CharField(default="", max_length=5),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="credential",
            constraint=models.UniqueConstraint(
                fields=("team", "name", "scheme", "host"), name="credential_is_unique"
            ),
        ),
    ]
