"""What the gateway needs from the rest of the product, as one protocol.

`adapters.py` satisfies it with Django's services; tests bring their own.
"""

from __future__ import annotations

import uuid
from typing import Protocol

from apps.accounts.types import KeyHolder
from apps.runs.types import LiveRun, RunOrder


class Backend(Protocol):
    """Knows keys, models and runs. Never blocks the event loop it is used on."""

    async def authenticate(self, raw_key: str) -> KeyHolder:
        """Return whom the key speaks for. Raises: NotAuthenticated."""
        ...

    async def model_names(self, team_id: uuid.UUID) -> tuple[str, ...]:
        """Return every model name of the team's pools and workers, in order."""
        ...

    async def start_run(self, order: RunOrder) -> LiveRun:
        """Start a run. Raises: InvalidInput, NotFound, Overloaded."""
        ...
