"""Actions on teams, people, keys, budgets and models, and what entries hold of them."""

from __future__ import annotations

from collections.abc import Mapping

from deploy.ledger_entry_shapes import (
    AFTER,
    BUDGET,
    CAUSE,
    CHANGE,
    ID,
    MODEL_TEST,
    NAME,
    PREFIX,
    REASON,
    ROLE,
    SCOPE,
    SHA256,
    TIME,
    USD,
    USER_ID,
    VERSION,
    Action,
    count,
    deleted,
    flag,
    mapping,
    or_null,
    text,
    words,
)

PROMISE = {
    "name": NAME,
    "planner_version": count("The version that promised."),
    "worker": text("The worker's name."),
    "ability": text("answer, check or plan."),
    "kind": count("The kind of prompts, by its number in the version."),
    "run": {**ID, "description": "The graded run that decided."},
    "answers": count("Answers since success was last as promised."),
    "promised_thousandths": count("Mean success promised for them, of 1,000."),
    "observed_thousandths": count("Their mean success, of 1,000."),
}
"""What is recorded of a promise that a light planner made of a worker."""
TEAM_ACTIONS: Mapping[str, Action] = {
    # --- teams and people ---
    "team.created": Action(
        "A team was created.",
        "team",
        {"slug": text("Its name in addresses."), "name": NAME},
    ),
    "team.updated": Action("Name or rates of a team were changed.", "team", CHANGE),
    "team.deleted": Action(
        "A team was deleted; its chain remains.",
        "team",
        {"slug": text("Its name in addresses."), "name": NAME},
    ),
    "team.suspended": Action(
        "All runs of a team, or of the site, were stopped.",
        "team",
        {"reason": REASON, "scope": SCOPE},
    ),
    "team.resumed": Action(
        "A stop of runs was lifted.",
        "team",
        {"reason": text("Why they were stopped."), "scope": SCOPE},
    ),
    "member.added": Action(
        "A person became a member.", "user", {"user": USER_ID, "role": ROLE}
    ),
    "member.changed": Action(
        "A member got another role.", "user", {"user": USER_ID, **CHANGE}
    ),
    "member.removed": Action(
        "A member was removed.", "user", {"user": USER_ID, "role": ROLE}
    ),
    "member.left": Action(
        "A member left the team.", "user", {"user": USER_ID, "role": ROLE}
    ),
    "invitation.created": Action(
        "A person was invited.",
        "invitation",
        {"role": ROLE, "expires_at": TIME},
        texts=("email",),
    ),
    "invitation.resent": Action(
        "An invitation was sent again.", "invitation", CHANGE, texts=("email",)
    ),
    "invitation.revoked": Action(
        "An invitation was withdrawn.",
        "invitation",
        optional={"role": ROLE, "reason": REASON},
        texts=("email",),
    ),
    "invitation.accepted": Action(
        "An invitation was accepted.", "invitation", {"role": ROLE}, texts=("email",)
    ),
    # --- API keys ---
    "api_key.issued": Action(
        "An API key was made.",
        "api_key",
        {
            "name": NAME,
            "prefix": PREFIX,
            "expires_at": TIME,
            "scopes": words("What it may do."),
            "allowed_tiers": words("Tiers it may use. Empty: all."),
            "allowed_workers": words("Workers it may use. Empty: all."),
            "requests_per_minute": or_null(count("null: no limit.")),
            "tokens_per_minute": or_null(count("null: no limit.")),
            "always_include_usage": flag("Streams end with their token counts."),
            "delivery": text("How streamed answers go out. Empty: as the tier says."),
            "progress": text("How streams show progress."),
            "data_class": text("Of all its prompts, at least. Empty: not stated."),
        },
    ),
    "api_key.updated": Action(
        "Settings of an API key were changed.", "api_key", {"prefix": PREFIX, **CHANGE}
    ),
    "api_key.rotated": Action(
        "An API key was replaced by a new one.",
        "api_key",
        {
            "name": NAME,
            "prefix": PREFIX,
            "replaced_by": {**ID, "description": "The new key."},
            **CHANGE,
        },
    ),
    "api_key.revoked": Action(
        "An API key was revoked for good.",
        "api_key",
        {"name": NAME, "prefix": PREFIX},
        {"reason": REASON},
    ),
    # --- presets ---
    "preset.created": Action(
        "A preset was created, with its first version.",
        "preset",
        {
            "version": VERSION,
            "digest": SHA256,
            "is_shared": flag("Everybody in the team sees it."),
        },
        {
            "copied_from": {**ID, "description": "The preset that it is a copy of."},
            "copied_version": count("The version that was copied."),
        },
        texts=("name",),
    ),
    "preset.version_created": Action(
        "A preset has a new version.",
        "preset",
        {"version": VERSION, "digest": SHA256},
        {"restores": count("The older version whose texts it has again.")},
        texts=("name",),
    ),
    "preset.updated": Action(
        "Name or description of a preset were changed.",
        "preset",
        {"changed": words("Which of both.")},
        texts=("name",),
    ),
    **{
        f"preset.{word}": Action(
            f"A preset {what}.",
            "preset",
            {"version": count("Its newest version.")},
            texts=("name",),
        )
        for word, what in {
            "shared": "was shared with the team",
            "unshared": "is its owner's alone again",
            "archived": "was archived: no run can use it",
            "unarchived": "can be used again",
        }.items()
    },
    "preset.deleted": Action(
        "A preset was deleted with all its versions.",
        "preset",
        {"versions": count("How many it had."), "digest": SHA256},
        texts=("name",),
    ),
    # --- budgets ---
    "budget.created": Action(
        "A budget was set.", "budget", BUDGET, {"target_id": {**ID}}
    ),
    "budget.updated": Action(
        "A budget was changed.", "budget", {**BUDGET, **CHANGE}, {"target_id": {**ID}}
    ),
    "budget.deleted": Action(
        "A budget was removed.", "budget", BUDGET, {"target_id": {**ID}}
    ),
    "budget.crossed": Action(
        "80 or 100 percent of a budget are spent.",
        "budget",
        {
            "percent": count("80 or 100."),
            "kind": BUDGET["kind"],
            "period": BUDGET["period"],
            "starts_on": text("First day of the period."),
            "limit_usd": USD,
            "spent_usd": USD,
        },
    ),
    "budget.reservations_freed": Action(
        "What dead processes had set aside was freed.",
        "budget",
        {
            "freed_usd": USD,
            "count": count("Reservations."),
            "runs": words("Ids of the runs, 100 at most."),
        },
    ),
    # --- pools and models ---
    "credential.set": Action(
        "A pool file stored a provider's key.",
        "credential",
        {"name": NAME, "scheme": text("https or http."), "host": text("With port.")},
    ),
    "credential.created": Action(
        "A provider's key was stored.", "credential", {"name": NAME, "after": AFTER}
    ),
    "credential.updated": Action(
        "A credential was renamed, or its key replaced.",
        "credential",
        {"name": NAME, "scheme": text("https or http."), "host": text("With port.")},
        {**CHANGE, "is_secret_replaced": flag("It has another key.")},
    ),
    "credential.deleted": deleted("A credential", "credential", name=NAME),
    "worker.created": Action(
        "A worker was added.", "worker", {"name": NAME, "after": AFTER}
    ),
    "worker.updated": Action(
        "A worker was changed.",
        "worker",
        {"name": NAME, **CHANGE},
        {"because_of": CAUSE},
    ),
    "worker.measured": Action(
        "A calibration measured a worker, and replaced what was known before.",
        "worker",
        {
            "name": NAME,
            "suite": text("Name and version of the suite."),
            "evaluation": text("Id of the evaluation."),
            "families": mapping("Tasks, and how many were right, by family."),
        },
    ),
    "worker.deleted": deleted("A worker", "worker", name=NAME),
    "worker.tested": Action(
        "A worker answered a test question, or failed to.",
        "worker",
        MODEL_TEST,
        outcomes=("success", "failure"),
    ),
    "conductor.created": Action(
        "A conductor was added.", "conductor", {"name": NAME, "after": AFTER}
    ),
    "conductor.updated": Action(
        "A conductor was changed.",
        "conductor",
        {"name": NAME, **CHANGE},
        {"because_of": CAUSE},
    ),
    "conductor.deleted": deleted("A conductor", "conductor", name=NAME),
    "conductor.tested": Action(
        "A conductor wrote a plan as a test, or failed to.",
        "conductor",
        MODEL_TEST,
        {"plan_steps": count("Steps of its plan.")},
        outcomes=("success", "failure"),
    ),
    "pool.created": Action(
        "A pool was made.",
        "pool",
        {"name": NAME, "after": AFTER},
        {"version": VERSION},
    ),
    "pool.updated": Action(
        "A pool was changed.", "pool", {"name": NAME, **CHANGE}, {"version": VERSION}
    ),
    "pool.changed": Action(
        "A pool has a new version, as one of its parts changed.",
        "pool",
        {"name": NAME, "version": VERSION, "because_of": CAUSE},
    ),
    "pool.deleted": deleted("A pool", "pool", name=NAME),
    "pool.planner_fitted": Action(
        "A version of a pool's light planner was fitted. No tier uses it yet.",
        "pool",
        {
            "name": NAME,
            "planner_version": count("Its number."),
            "digest": text("SHA-256 of the fitted planner, in hexadecimal."),
            "data_digest": text("SHA-256 of the learning data, in hexadecimal."),
            "runs": count("Logged runs that it was fitted on."),
            "graded_steps": count("Graded answers among their steps."),
            "kinds": count("Kinds of prompts that it tells apart."),
            "workers": words("The workers that it knows."),
        },
        {
            "version": VERSION,
            "source": text(
                "`fitted`, or `site_default`: of worker profiles and the site's "
                "default, so it has no logged runs and no graded steps."
            ),
            "embedding": or_null(
                mapping(
                    "The embedding worker that tells kinds of prompts apart: `worker`, "
                    "`model`, `width` of its vectors, number of `prompts` that have "
                    "one and of those `left_out`. Null: n-grams do."
                )
            ),
            "answer_worth_micros": or_null(
                count(
                    "What a right answer is worth to it, in micro-dollars, unless a "
                    "tier says. Null: 25 answers of the dearest worker of a request."
                )
            ),
        },
    ),
    "pool.planner_used": Action(
        "Tiers of a pool use another version of its light planner, or none.",
        "pool",
        {"name": NAME, **CHANGE},
        {"version": VERSION, "reason": text("Why, against the gate.")},
    ),
    "pool.promise_broken": Action(
        "A worker's success fell below what a light planner promised of it: what was "
        "learned of it before counts little from now on.",
        "pool",
        PROMISE,
    ),
    "pool.promise_dismissed": Action(
        "What was learned of a worker before it broke a promise counts again.",
        "pool",
        PROMISE,
    ),
    "pool.imported": Action(
        "A pool file was read.",
        "pool",
        {
            "name": NAME,
            "fallback": text("The fallback worker."),
            "conductor": or_null(text("null: none.")),
            "workers": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Name, model and base URL of each worker.",
            },
            "created": words("What was added."),
            "changed": words("What was changed."),
        },
        {"version": VERSION},
    ),
}
