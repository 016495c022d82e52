"""Conductors: models that plan."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_POOLS, READ_POOLS
from apps.pools.attributes import ConductorAttributes
from apps.pools.models import Conductor
from apps.pools.selectors import (
    access_conductor,
    conductor_list,
    conductor_values,
    last_test,
)
from apps.pools.services import (
    conductor_create,
    conductor_delete,
    conductor_test,
    conductor_update,
)
from apps.rest.attribute_fields import example_values, input_fields, output_fields
from apps.rest.pagination import page_by_place
from apps.rest.resources.endpoints import (
    ENDPOINT,
    SENT,
    TEST_EXAMPLE,
    EndpointInput,
    EndpointOutput,
    ModelTestOutput,
    listed,
)
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Conductors"
TEMPERATURE = r"^[0-2](\.\d{1,2})?$"
EXAMPLE: dict[str, Any] = {
    **ENDPOINT,
    "name": "planner",
    **example_values(ConductorAttributes),
}


class ConductorInput(EndpointInput):
    """A model that plans."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of every model, then those of conductors."""
        return {**super().get_fields(), **input_fields(ConductorAttributes)}


class ConductorOutput(EndpointOutput):
    """A model that plans."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of every model, then those of conductors."""
        return {
            **super().get_fields(),
            **output_fields(ConductorAttributes),
            "temperature": serializers.RegexField(TEMPERATURE, allow_null=True),
        }


class Conductors(RestView):
    """The conductors of the team."""

    tag = TAG
    rights = {"GET": READ_POOLS, "POST": MANAGE_POOLS}

    @operation(
        "conductor_list", "List conductors", page_of=ConductorOutput, example=EXAMPLE
    )
    def get(self, request: Request) -> Response:
        """Return the conductors by name."""
        page = page_by_place(conductor_list(self.principal.team_id), **self.read_page())
        told = [_told(conductor) for conductor in page.data]
        return self.paged(type(page)(told, page.next_cursor), ConductorOutput)

    @operation(
        "conductor_create",
        "Add a conductor",
        body=ConductorInput,
        answer=ConductorOutput,
        status=201,
        sent={**SENT, "name": "planner", "mode": "json_schema"},
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Add a conductor. It plans for no pool yet.

        A key that a budget binds cannot set its price.
        """
        conductor = conductor_create(
            team=self.principal.team,
            values=self.read(ConductorInput),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        place = reverse("rest:conductor", args=[conductor.id])
        return self.created(ConductorOutput(_told(conductor)).data, place)


class OneConductor(RestView):
    """One conductor."""

    tag = TAG
    rights = {"GET": READ_POOLS, "PATCH": MANAGE_POOLS, "DELETE": MANAGE_POOLS}

    @operation(
        "conductor_get", "Read a conductor", answer=ConductorOutput, example=EXAMPLE
    )
    def get(self, request: Request, conductor_id: uuid.UUID) -> Response:
        """Return a conductor."""
        conductor = access_conductor(self.principal.team_id, conductor_id)
        return Response(ConductorOutput(_told(conductor)).data)

    @operation(
        "conductor_update",
        "Change a conductor",
        body=ConductorInput,
        is_partial=True,
        answer=ConductorOutput,
        sent={"temperature": "0.2"},
        example={**EXAMPLE, "temperature": "0.2"},
    )
    def patch(self, request: Request, conductor_id: uuid.UUID) -> Response:
        """Change a conductor in every pool it plans for, for runs that begin later.

        A key that a budget binds cannot lower its price, or point it elsewhere while
        its price is known.
        """
        conductor = conductor_update(
            conductor=access_conductor(self.principal.team_id, conductor_id),
            values=self.read(ConductorInput, is_partial=True),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        return Response(ConductorOutput(_told(conductor)).data)

    @operation("conductor_delete", "Delete a conductor", errors=(409,))
    def delete(self, request: Request, conductor_id: uuid.UUID) -> Response:
        """Delete a conductor that plans for no pool."""
        conductor_delete(
            conductor=access_conductor(self.principal.team_id, conductor_id),
            actor=self.principal.actor,
        )
        return Response(status=204)


class ConductorTest(RestView):
    """Trying a conductor out."""

    tag = TAG
    rights = {"POST": MANAGE_POOLS}

    @operation(
        "conductor_test",
        "Test a conductor",
        answer=ModelTestOutput,
        example=TEST_EXAMPLE,
    )
    def post(self, request: Request, conductor_id: uuid.UUID) -> Response:
        """Ask a conductor one short question, which costs what it costs.

        What goes wrong at the provider is in the answer.
        """
        result = self.wait_for(
            lambda: conductor_test(
                team_id=self.principal.team_id,
                conductor_id=conductor_id,
                actor=self.principal.actor,
            )
        )
        return Response(ModelTestOutput(result).data)


def _told(conductor: Conductor) -> dict[str, Any]:
    return {
        "id": conductor.id,
        **conductor_values(conductor),
        "list_price": listed(conductor),
        "pools": sorted(pool.name for pool in conductor.pools.all()),
        "last_test": last_test(conductor),
    }
