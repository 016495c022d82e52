"""Workers: models that do subtasks."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_POOLS, READ_POOLS
from apps.pools.attributes import WorkerAttributes
from apps.pools.models import Protocol, Worker
from apps.pools.selectors import (
    access_worker,
    worker_list,
    worker_values,
)
from apps.pools.services import (
    models_fetch,
    worker_create,
    worker_delete,
    worker_test,
    worker_update,
)
from apps.pools.types import HealthState, WorkerHealth
from apps.rest.attribute_fields import example_values, input_fields, output_fields
from apps.rest.fields import Id, Input, Output, TextField, Word
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
from apps.rest.schema import HIDDEN, operation
from apps.rest.views import RestView
from apps.runs.selectors import worker_healths

TAG = "Workers"
HEALTH_STATES = [(state.value, state.value) for state in HealthState]
EXAMPLE: dict[str, Any] = {
    **ENDPOINT,
    **example_values(WorkerAttributes),
    "health": {"state": "healthy", "calls": 40, "failures": 1, "latency_ms": 2104},
}


class WorkerInput(EndpointInput):
    """A worker."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of every model, then those of workers."""
        return {**super().get_fields(), **input_fields(WorkerAttributes)}


class ModelsInput(Input):
    """Whose models to list, and with which key."""

    base_url = TextField(max_length=500)
    protocol = Word(choices=Protocol.choices, required=False)
    credential_id = Id(required=False, allow_null=True)
    secret = TextField(
        max_length=4000,
        required=False,
        allow_null=True,
        help_text="A key that is not stored yet. Write-only.",
    )


class WorkerHealthOutput(Output):
    """How a worker has been doing for a day."""

    state = serializers.ChoiceField(choices=HEALTH_STATES)
    calls = serializers.IntegerField()
    failures = serializers.IntegerField()
    latency_ms = serializers.IntegerField(
        allow_null=True, help_text="Of a usual call. Null: there was none."
    )


class WorkerOutput(EndpointOutput):
    """A worker."""

    def get_fields(self) -> dict[str, Any]:
        """Return the fields of every model, then those of workers."""
        effort = serializers.CharField(help_text="Empty: the server's own.")
        return {
            **super().get_fields(),
            **output_fields(WorkerAttributes),
            "reasoning_effort": effort,
            "health": WorkerHealthOutput(),
        }


class ModelsOutput(Output):
    """The models a provider lists."""

    models = serializers.ListField(child=serializers.CharField())


class Workers(RestView):
    """The workers of the team."""

    tag = TAG
    rights = {"GET": READ_POOLS, "POST": MANAGE_POOLS}

    @operation("worker_list", "List workers", page_of=WorkerOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return the workers by name, and how they are doing."""
        page = page_by_place(worker_list(self.principal.team_id), **self.read_page())
        health = worker_healths(self.principal.team_id, page.data)
        told = [_told(worker, health[worker.id]) for worker in page.data]
        return self.paged(type(page)(told, page.next_cursor), WorkerOutput)

    @operation(
        "worker_create",
        "Add a worker",
        body=WorkerInput,
        answer=WorkerOutput,
        status=201,
        sent=SENT,
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Add a worker. It works for no pool yet.

        A key that a budget binds cannot set its price.
        """
        worker = worker_create(
            team=self.principal.team,
            values=self.read(WorkerInput),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        place = reverse("rest:worker", args=[worker.id])
        return self.created(_output(worker), place)


class OneWorker(RestView):
    """One worker."""

    tag = TAG
    rights = {"GET": READ_POOLS, "PATCH": MANAGE_POOLS, "DELETE": MANAGE_POOLS}

    @operation("worker_get", "Read a worker", answer=WorkerOutput, example=EXAMPLE)
    def get(self, request: Request, worker_id: uuid.UUID) -> Response:
        """Return a worker and how it is doing."""
        return Response(_output(access_worker(self.principal.team_id, worker_id)))

    @operation(
        "worker_update",
        "Change a worker",
        body=WorkerInput,
        is_partial=True,
        answer=WorkerOutput,
        sent={"is_enabled": False},
        example={**EXAMPLE, "is_enabled": False},
    )
    def patch(self, request: Request, worker_id: uuid.UUID) -> Response:
        """Change a worker in every pool it works for, for runs that begin later.

        A key that a budget binds cannot lower its price, or point it elsewhere while
        its price is known.
        """
        worker = worker_update(
            worker=access_worker(self.principal.team_id, worker_id),
            values=self.read(WorkerInput, is_partial=True),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        return Response(_output(worker))

    @operation("worker_delete", "Delete a worker", errors=(409,))
    def delete(self, request: Request, worker_id: uuid.UUID) -> Response:
        """Delete a worker that is in no pool."""
        worker_delete(
            worker=access_worker(self.principal.team_id, worker_id),
            actor=self.principal.actor,
        )
        return Response(status=204)


class WorkerTest(RestView):
    """Trying a worker out."""

    tag = TAG
    rights = {"POST": MANAGE_POOLS}

    @operation(
        "worker_test", "Test a worker", answer=ModelTestOutput, example=TEST_EXAMPLE
    )
    def post(self, request: Request, worker_id: uuid.UUID) -> Response:
        """Ask a worker a few short questions, which cost what they cost.

        One that answers must show what it can do, too. What goes wrong at the provider
        is in the answer.
        """
        result = self.wait_for(
            lambda: worker_test(
                team_id=self.principal.team_id,
                worker_id=worker_id,
                actor=self.principal.actor,
            )
        )
        return Response(ModelTestOutput(result).data)


class ProviderModels(RestView):
    """What a provider serves."""

    tag = TAG
    rights = {"POST": MANAGE_POOLS}

    @operation(
        "models_fetch",
        "List a provider's models",
        body=ModelsInput,
        answer=ModelsOutput,
        errors=(422,),
        sent={"base_url": "https://api.mistral.ai/v1", "secret": HIDDEN},
        example={"models": ["mistral-large-latest"]},
    )
    def post(self, request: Request) -> Response:
        """Ask a provider for the names of its models."""
        given = self.read(ModelsInput)
        names = self.wait_for(
            lambda: models_fetch(team_id=self.principal.team_id, **given)
        )
        return Response({"models": names})


def _output(worker: Worker) -> dict[str, Any]:
    health = worker_healths(worker.team_id, [worker])
    return WorkerOutput(_told(worker, health[worker.id])).data


def _told(worker: Worker, health: WorkerHealth) -> dict[str, Any]:
    return {
        "id": worker.id,
        **worker_values(worker),
        "extra_body": worker.extra_body,
        "list_price": listed(worker),
        "pools": sorted(pool.name for pool in worker.pools.all()),
        "last_test": health.last_test,
        "health": health,
    }
