"""The protocol through which the gateway uses the rest of the product.

`django_backend.py` satisfies it with Django's services; tests bring their own.
"""

from __future__ import annotations

import uuid
from typing import Protocol

from apps.accounts.principal import KeyPrincipal
from apps.accounts.types import KeyHolder
from apps.audit.types import Actor
from apps.gateway.model_facts import ModelFacts
from apps.presets.composing import ComposedPrompt, PresetCall
from apps.runs.types import LiveRun, RunOrder, RunRecord


class Backend(Protocol):
    """Knows keys, models and runs. Never blocks the event loop it is used on."""

    async def authenticate(self, raw_key: str) -> KeyHolder:
        """Return whom the key speaks for. Raises: NotAuthenticated."""
        ...

    async def models(self, holder: KeyHolder) -> dict[str, ModelFacts]:
        """Return what is known of the models that a key may use, by name, in order.

        Those of single workers are among them whatever the key's scopes.
        """
        ...

    async def start_run(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> LiveRun:
        """Start a run, under `run_id` if one is given.

        Raises: InvalidInput, NotFound, NotAllowed, BudgetExceeded, Overloaded.
        """
        ...

    async def start_detached(
        self, order: RunOrder, run_id: uuid.UUID | None = None
    ) -> LiveRun | RunRecord:
        """Start a detached run; return once it can be found by its id.

        Returns its record if it executes in another process.
        Raises: as `start_run`.
        """
        ...

    async def stop_run(
        self, team_id: uuid.UUID, run_id: uuid.UUID, actor: Actor, reason: str
    ) -> bool:
        """Stop a team's run and return once its end is on record; False: it had one."""
        ...

    def find_run(self, team_id: uuid.UUID, run_id: uuid.UUID) -> LiveRun | None:
        """Return a team's run if it is executing in this process."""
        ...

    async def is_over(self, team_id: uuid.UUID, run_id: uuid.UUID) -> bool:
        """Say whether a team's run has ended. Raises: NotFound."""
        ...

    async def run_record(self, team_id: uuid.UUID, run_id: uuid.UUID) -> RunRecord:
        """Return what is on record of a team's run. Raises: NotFound."""
        ...

    async def asking_worker(self, team_id: uuid.UUID, run_id: uuid.UUID) -> str:
        """Return the worker whose tool calls ended a team's run; "" if unknown."""
        ...

    async def compose_preset(
        self, principal: KeyPrincipal, call: PresetCall
    ) -> ComposedPrompt:
        """Return the prompt that a preset makes. Raises: as `preset_compose`."""
        ...

    async def claim(
        self, team_id: uuid.UUID, key: str, digest: bytes, run_id: uuid.UUID
    ) -> uuid.UUID:
        """Return the run that holds an idempotency key: `run_id` if it was free.

        Raises: IdempotencyConflict if it was used with another body.
        """
        ...

    async def holder(
        self, team_id: uuid.UUID, key: str, digest: bytes
    ) -> uuid.UUID | None:
        """Return the run that holds an idempotency key; None: the key is free.

        Raises: IdempotencyConflict if it was used with another body.
        """
        ...

    async def release(self, team_id: uuid.UUID, key: str, run_id: uuid.UUID) -> None:
        """Free an idempotency key if `run_id` is what holds it."""
        ...
