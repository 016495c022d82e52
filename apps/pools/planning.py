"""The planner that a conductor's settings describe: the same for runs and for tests."""

from __future__ import annotations

from apps.planners.language_model import LanguageModelPlanner
from apps.pools.models import ConductorMode
from apps.pools.types import ConductorSnapshot


def conductor_planner(conductor: ConductorSnapshot) -> LanguageModelPlanner:
    """Return the planner that asks this conductor for plans."""
    settings = conductor.attributes
    is_lists = settings.mode == ConductorMode.LISTS
    warmth = settings.temperature
    return LanguageModelPlanner(
        mode="lists" if is_lists else "json_schema",
        shows_descriptions=settings.shows_descriptions,
        # A reply that a schema holds cannot go on from a sentence of ours.
        uses_prefill=is_lists and settings.uses_prefill,
        max_tokens=settings.max_output_tokens,
        temperature=None if warmth is None else float(warmth),
    )
