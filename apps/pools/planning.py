"""The planner that a conductor's settings describe: the same for runs and for tests."""

from __future__ import annotations

from apps.planners.language_model import LanguageModelPlanner
from apps.planners.worker_cards import Cards, measured_cards, priced_cards
from apps.pools.models import ConductorMode
from apps.pools.prompt_styles import PromptStyle
from apps.pools.types import ConductorSnapshot, PlannerSnapshot, WorkerSnapshot


def conductor_planner(
    conductor: ConductorSnapshot, measured: PlannerSnapshot | None = None
) -> LanguageModelPlanner:
    """Return the planner that asks this conductor for plans.

    `measured` is the pool's light planner: it knows the workers that a brief prompt is
    about.
    """
    settings = conductor.attributes
    is_lists = settings.mode == ConductorMode.LISTS
    is_brief = is_lists and settings.prompt_style == PromptStyle.BRIEF
    warmth = settings.temperature
    return LanguageModelPlanner(
        mode="lists" if is_lists else "json_schema",
        shows_descriptions=settings.shows_descriptions or settings.shows_measurements,
        # A reply that a schema holds cannot go on from a sentence of ours.
        uses_prefill=is_lists and settings.uses_prefill and not is_brief,
        max_tokens=settings.max_output_tokens,
        temperature=None if warmth is None else float(warmth),
        cards=_cards(measured) if is_brief else None,
    )


def _cards(measured: PlannerSnapshot | None) -> Cards:
    return priced_cards if measured is None else measured_cards(measured.model)


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
