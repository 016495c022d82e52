from typing import Any

from django.db import migrations, models

from apps.audit.chain import Position, untagged
from apps.audit.macs import head_mac, mac_key


def authenticate_heads(apps: Any, schema_editor: Any) -> None:
    """Let every chain that is there say from which entry on there are codes.

    The last moment at which a head without a code is the site's own.
    """
    heads = apps.get_model("audit", "ChainHead").objects
    using, key = schema_editor.connection.alias, mac_key()
    for head in heads.using(using).all():
        try:
            end = Position(head.seq, untagged(head.hash))
        except ValueError:
            continue  # tampered with: it stays without a code
        head.mac_from = head.seq + 1
        head.mac = head_mac(key, head.team_id, end, head.mac_from)
        head.save(using=using)


class Migration(migrations.Migration):

    dependencies = [
        ("audit", "0002_signed_checkpoints"),
    ]

    operations = [
        # NOT NULL without a default: a process of an older version cannot append any
        # more, as it would without codes.
        migrations.AddField(
            model_name="entry",
            name="mac",
            field=models.BinaryField(default=b""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="chainhead",
            name="mac_from",
            field=models.BigIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="chainhead",
            name="mac",
            field=models.BinaryField(default=b""),
            preserve_default=False,
        ),
        migrations.RunPython(authenticate_heads, migrations.RunPython.noop),
    ]
