"""Actions on trainings and versions of conductors, and what their entries hold."""

from __future__ import annotations

from collections.abc import Mapping

from deploy.ledger_entry_shapes import (
    NAME,
    REASON,
    SHA256,
    Action,
    count,
    flag,
    mapping,
    or_null,
    text,
    words,
)

SUBJECT = "conductor_training"
NUMBER = count("Number of the version of the team's conductors.")

TRAINING_ACTIONS: Mapping[str, Action] = {
    "conductor_training.started": Action(
        "Somebody started the training of a conductor.",
        SUBJECT,
        {
            "pool": NAME,
            "suite": NAME,
            "suite_version": count("Number of the suite's version."),
            "planner_version": count("Version of the light planner it learns from."),
            "settings": mapping("Base model, steps, tasks, margin, tier and limits."),
        },
    ),
    "conductor_training.cancelled": Action(
        "Somebody cancelled the training of a conductor.", SUBJECT, {}
    ),
    "conductor_training.trained": Action(
        "A training made weights, which became a version.",
        SUBJECT,
        {
            "pool": NAME,
            "conductor_version": NUMBER,
            "digest": SHA256,
            "data_digest": SHA256,
            "base_model": text("The model that it began with."),
            "summary": mapping("First and last figures of each stage."),
        },
    ),
    "conductor_training.ended": Action(
        "The training of a conductor ended.",
        SUBJECT,
        {
            "pool": NAME,
            "outcome": text(
                "used, better, not_better, cancelled, budget, collapsed or failed."
            ),
            "error": text("Why it ended early; or empty."),
            "conductor_version": or_null(NUMBER),
            "cost_micros": count("Known cost of all its runs, in micro-dollars."),
        },
        outcomes=("success", "failure"),
    ),
    "conductor_training.weights_deleted": Action(
        "Somebody deleted the weights of a version.",
        SUBJECT,
        {"conductor_version": NUMBER, "digest": SHA256},
    ),
    "conductor.published": Action(
        "A trained version became a conductor, or is served elsewhere now.",
        "conductor",
        {
            "name": NAME,
            "conductor_version": NUMBER,
            "digest": SHA256,
            "served_name": text("What its server calls it."),
            "pool": NAME,
        },
    ),
    "conductor.used": Action(
        "A tier plans with a trained version from now on.",
        "conductor",
        {
            "name": NAME,
            "conductor_version": NUMBER,
            "pool": NAME,
            "tier": text("mini or ultra."),
            "other_tiers": words("Tiers of the pool that it plans for as well."),
            "passed_gate": flag("It was better on held-out tasks."),
        },
        {"reason": REASON},
    ),
}
