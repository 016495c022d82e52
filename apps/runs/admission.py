"""Admits runs: checks rights, counts rates, and names the principal in the order.

The gateway, REST and the pages all start runs through here. Budgets bind when the
executor reserves the cost of the run (`execution.cost_cap`).
"""

from __future__ import annotations

import uuid
from typing import TypedDict

from apps.accounts.principal import KeyPrincipal, Principal
from apps.accounts.rights import DIRECT, RUN
from apps.audit.types import Actor
from apps.budgets.rate_limits import (
    Admission,
    TokenMeter,
    admit,
    admit_member,
    admit_on_loop,
    is_limited,
)
from apps.engine.usage import estimate_tokens
from apps.runs.planning.model_resolver import is_direct


def run_admit(principal: Principal, model: str, prompt: str) -> Admission:
    """Check the right to run `model`; count the run against the rates.

    Returns what the rates say, which may be a refusal. Blocks for an answer of Redis;
    not for the event loop. Raises: NotAllowed.
    """
    _require_run(principal, model)
    if principal.key is None:
        return admit_member(principal.team, prompt_tokens=estimate_tokens(prompt))
    return admit(principal.key, prompt_tokens=estimate_tokens(prompt))


async def run_admit_on_loop(
    principal: KeyPrincipal, model: str, prompt: str
) -> Admission:
    """Do the same for a key, on the event loop."""
    _require_run(principal, model)
    tokens = estimate_tokens(prompt) if is_limited(principal.key) else 0
    return await admit_on_loop(principal.key, prompt_tokens=tokens)


def _require_run(principal: Principal, model: str) -> None:
    principal.require(RUN)
    if is_direct(model):
        principal.require(DIRECT)


class OrderedBy(TypedDict):
    """The fields of a `RunOrder` that its principal decides."""

    team_id: uuid.UUID
    actor: Actor
    user_id: uuid.UUID | None
    api_key_id: uuid.UUID | None
    allowed_tiers: frozenset[str]
    allowed_workers: frozenset[str]
    meter: TokenMeter | None
    key_data_class: str


def ordered_by(principal: Principal, admission: Admission) -> OrderedBy:
    """Return what the order of a run says of the principal that was let in."""
    key = principal.key
    return {
        "team_id": principal.team_id,
        "actor": principal.actor,
        "user_id": principal.user_id,
        "api_key_id": principal.key_id,
        "allowed_tiers": key.allowed_tiers if key else frozenset(),
        "allowed_workers": key.allowed_workers if key else frozenset(),
        "meter": admission.meter,
        "key_data_class": key.data_class if key else "",
    }
