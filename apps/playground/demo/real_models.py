"""Real models of a provider for the demo, if its key was given at the start.

    make demo OPENAI_API_KEY=…

They get a pool of their own, which is the default from then on. Only what is written
on that command line counts, so that a key that happens to be in the environment costs
nobody money.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from asgiref.sync import async_to_sync

from apps.accounts.models import Team
from apps.core.errors import ConductorError
from apps.playground.demo.measured import ACTOR
from apps.pools.model_guesses import planners_first
from apps.pools.selectors import (
    credential_list,
    known_provider_list,
    worker_list,
)
from apps.pools.services import (
    NewCredential,
    conductor_test,
    models_add,
    models_fetch,
    pool_complete,
    worker_test,
)
from apps.pools.types import KnownProvider

PREFIX = "CONDUCTOR_DEMO_"
KEYS: Mapping[str, str] = {
    "OPENAI_API_KEY": "openai",
    "ANTHROPIC_API_KEY": "anthropic",
    "GEMINI_API_KEY": "gemini",
    "MISTRAL_API_KEY": "mistral",
    "GROQ_API_KEY": "groq",
    "OPENROUTER_API_KEY": "openrouter",
}
"""Ids of providers by the names of their keys, as their own libraries have them."""
MAX_MODELS = 3
"""Of one provider: the best suited to plan."""


def real_models_add(team: Team, environ: Mapping[str, str]) -> Iterator[str]:
    """Add the models of each provider whose key was given; yield a line for each.

    A provider whose key the team has already is passed over.
    """
    providers = {each.id: each for each in known_provider_list()}
    for name, provider_id in KEYS.items():
        provider, key = providers[provider_id], environ.get(f"{PREFIX}{name}", "")
        rows = credential_list(team.id)
        if not key or any(row.is_bound_to(provider.base_url) for row in rows):
            continue
        try:
            yield _added(team, provider, key)
        except ConductorError as error:
            yield f"{provider.name}: not added. {error.message}"


def _added(team: Team, provider: KnownProvider, key: str) -> str:
    listed = async_to_sync(models_fetch)(
        team_id=team.id,
        base_url=provider.base_url,
        protocol=provider.protocol,
        secret=key,
    )
    models = planners_first(provider.base_url, listed)[:MAX_MODELS]
    conductor = models_add(
        team=team,
        provider={
            "base_url": provider.base_url,
            "protocol": provider.protocol,
            "max_tokens_field": provider.max_tokens_field,
        },
        extra_params=provider.extra_params,
        models=models,
        planner="",
        credential=NewCredential(provider.name, key),
        actor=ACTOR,
    )
    rows = worker_list(team.id).filter(base_url=provider.base_url)
    passed = [
        row
        for row in rows
        if async_to_sync(worker_test)(team_id=team.id, worker_id=row.id, actor=ACTOR).ok
    ]
    if not passed:
        return f"{provider.name}: none of {', '.join(models)} passed its test"
    plans = (
        conductor is not None
        and async_to_sync(conductor_test)(
            team_id=team.id, conductor_id=conductor.id, actor=ACTOR
        ).ok
    )
    pool_complete(
        team=team,
        workers=passed,
        conductor=conductor if plans else None,
        actor=ACTOR,
    )
    names = ", ".join(row.name for row in passed)
    planned = f"planned by {conductor.name}" if plans and conductor else "without plans"
    return f"{provider.name}: {names}, {planned}"
