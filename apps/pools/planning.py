"""The planner that a conductor's settings describe: the same for runs and for tests."""

from __future__ import annotations

from apps.planners.language_model import LanguageModelPlanner
from apps.pools.models import ConductorMode
from apps.pools.types import ConductorSnapshot, WorkerSnapshot


def conductor_planner(conductor: ConductorSnapshot) -> LanguageModelPlanner:
    """Return the planner that asks this conductor for plans."""
    settings = conductor.attributes
    is_lists = settings.mode == ConductorMode.LISTS
    warmth = settings.temperature
    return LanguageModelPlanner(
        mode="lists" if is_lists else "json_schema",
        shows_descriptions=settings.shows_descriptions or settings.shows_measurements,
        # A reply that a schema holds cannot go on from a sentence of ours.
        uses_prefill=is_lists and settings.uses_prefill,
        max_tokens=settings.max_output_tokens,
        temperature=None if warmth is None else float(warmth),
    )


def worker_description(
    worker: WorkerSnapshot, conductor: ConductorSnapshot | None
) -> str:
    """Return what the conductor is to read of a worker; empty: it is anonymous."""
    if conductor is None:
        return worker.attributes.description
    settings = conductor.attributes
    described = worker.attributes.description if settings.shows_descriptions else ""
    if not settings.shows_measurements:
        return described
    parts = (worker.measured or described, worker.in_production)
    return " ".join(part for part in parts if part)
