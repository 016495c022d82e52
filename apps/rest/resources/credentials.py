"""Providers' keys: stored, replaced, forgotten, and never read again."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_POOLS, READ_POOLS
from apps.pools.selectors import access_credential, credential_list
from apps.pools.services import (
    credential_create,
    credential_delete,
    credential_update,
)
from apps.rest.fields import Input, Output, TextField, Time
from apps.rest.schema import HIDDEN, operation
from apps.rest.views import RestView

TAG = "Credentials"
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000006",
    "name": "Mistral",
    "scheme": "https",
    "host": "api.mistral.ai:443",
    "created_at": "2026-11-21T15:53:16.000000Z",
    "updated_at": "2026-11-21T15:53:16.000000Z",
}


class CredentialChangeInput(Input):
    """What may change of a credential: never where it is sent."""

    name = TextField(max_length=100)
    secret = TextField(max_length=4000, help_text="The provider's key. Write-only.")


class CredentialInput(CredentialChangeInput):
    """A new credential. Its base URL decides where it is sent, for good."""

    base_url = TextField(max_length=500)


class CredentialOutput(Output):
    """A credential, without its secret."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    scheme = serializers.CharField(help_text="`https` or `http`: how it is sent.")
    host = serializers.CharField(help_text="The only one it is ever sent to.")
    created_at = Time()
    updated_at = Time()


class Credentials(RestView):
    """The credentials of the team."""

    tag = TAG
    rights = {"GET": READ_POOLS, "POST": MANAGE_POOLS}

    @operation(
        "credential_list",
        "List credentials",
        page_of=CredentialOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return the credentials by name, without their secrets."""
        return self.listed(credential_list(self.principal.team_id), CredentialOutput)

    @operation(
        "credential_create",
        "Store a credential",
        body=CredentialInput,
        answer=CredentialOutput,
        status=201,
        sent={
            "name": "Mistral",
            "base_url": "https://api.mistral.ai/v1",
            "secret": HIDDEN,
        },
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Store a provider's key, sealed. It is sent to that one host alone."""
        row = credential_create(
            team=self.principal.team,
            values=self.read(CredentialInput),
            actor=self.principal.actor,
        )
        place = reverse("rest:credential", args=[row.id])
        return self.created(CredentialOutput(row).data, place)


class OneCredential(RestView):
    """One credential."""

    tag = TAG
    rights = {"GET": READ_POOLS, "PATCH": MANAGE_POOLS, "DELETE": MANAGE_POOLS}

    @operation(
        "credential_get",
        "Read a credential",
        answer=CredentialOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request, credential_id: uuid.UUID) -> Response:
        """Return a credential, without its secret."""
        row = access_credential(self.principal.team_id, credential_id)
        return Response(CredentialOutput(row).data)

    @operation(
        "credential_update",
        "Change a credential",
        body=CredentialChangeInput,
        is_partial=True,
        answer=CredentialOutput,
        sent={"secret": HIDDEN},
        example=EXAMPLE,
    )
    def patch(self, request: Request, credential_id: uuid.UUID) -> Response:
        """Rename a credential or replace its secret."""
        row = credential_update(
            credential=access_credential(self.principal.team_id, credential_id),
            values=self.read(CredentialChangeInput, is_partial=True),
            actor=self.principal.actor,
        )
        return Response(CredentialOutput(row).data)

    @operation("credential_delete", "Delete a credential", errors=(409,))
    def delete(self, request: Request, credential_id: uuid.UUID) -> Response:
        """Forget a credential that no model uses."""
        credential_delete(
            credential=access_credential(self.principal.team_id, credential_id),
            actor=self.principal.actor,
        )
        return Response(status=204)
