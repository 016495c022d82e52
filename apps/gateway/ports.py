"""What the gateway needs from the rest of the product, as one protocol.

`adapters.py` satisfies it with Django's services; tests bring their own.
"""

from __future__ import annotations

from typing import Protocol

from apps.accounts.types import KeyHolder
from apps.runs.types import LiveRun, RunOrder


class Backend(Protocol):
    """Knows keys, models and runs. Never blocks the event loop it is used on."""

    async def authenticate(self, raw_key: str) -> KeyHolder:
        """Return whom the key speaks for. Raises: NotAuthenticated."""
        ...

    async def model_names(self, holder: KeyHolder) -> tuple[str, ...]:
        """Return the model names that a key may use, in order.

        Those of single workers are among them whatever the key's scopes.
        """
        ...

    async def start_run(self, order: RunOrder) -> LiveRun:
        """Start a run.

        Raises: InvalidInput, NotFound, NotAllowed, BudgetExceeded, Overloaded.
        """
        ...
