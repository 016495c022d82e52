"""Binds stored credentials to https or http, and seals their secrets anew for it.

The scheme is that of the models which use the credential: https if only one of them has
it, because what was given for https must not go out in clear. An unused one is taken to
be for https, but at port 80. A secret that cannot be opened with today's keys is left
as it is, without a scheme: it is sent nowhere until it is stored again.
"""

from django.db import migrations

from apps.core.errors import SecretUnreadable
from apps.core.keyring import seal, unseal


def context_of(row, place):
    return b"credential:" + row.team_id.bytes + row.id.bytes + place.encode()


def scheme_for(apps, row):
    users = [
        model.base_url.partition(":")[0].lower()
        for kind in ("Worker", "Conductor")
        for model in apps.get_model("pools", kind).objects.filter(credential_id=row.id)
    ]
    if users:
        return "https" if "https" in users else "http"
    return "http" if row.host.endswith(":80") else "https"


def bind(apps, schema_editor):
    for row in apps.get_model("pools", "Credential").objects.filter(scheme=""):
        scheme = scheme_for(apps, row)
        try:
            secret = unseal(bytes(row.sealed), context=context_of(row, row.host))
        except SecretUnreadable:
            continue
        place = f"{scheme}://{row.host}"
        row.scheme, row.sealed = scheme, seal(secret, context=context_of(row, place))
        row.save(update_fields=["scheme", "sealed"])


def loosen(apps, schema_editor):
    for row in apps.get_model("pools", "Credential").objects.exclude(scheme=""):
        place = f"{row.scheme}://{row.host}"
        try:
            secret = unseal(bytes(row.sealed), context=context_of(row, place))
        except SecretUnreadable:
            continue
        row.scheme, row.sealed = "", seal(secret, context=context_of(row, row.host))
        row.save(update_fields=["scheme", "sealed"])


class Migration(migrations.Migration):
    dependencies = [("pools", "0008_credential_scheme")]

    operations = [migrations.RunPython(bind, loosen)]
