"""Writes `docs/ledger-entries.schema.json`: the facts and texts of every action.

Actions of runs come from the engine's events; those of people and of the site are
declared here. While tests run, every entry that the product appends is checked against
the schema, so a fact that is not declared fails a test.

`python -m deploy.ledger_entry_schema`; a test fails while the file is outdated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.event_schema import ROOT, event_schema

FILE: Path = ROOT / "docs" / "ledger-entries.schema.json"
Shape = Mapping[str, Any]


def _text(description: str) -> Shape:
    return {"type": "string", "description": description}


def _count(description: str) -> Shape:
    return {"type": "integer", "minimum": 0, "description": description}


def _flag(description: str) -> Shape:
    return {"type": "boolean", "description": description}


def _words(description: str) -> Shape:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _object(description: str) -> Shape:
    return {"type": "object", "description": description}


def _or_null(shape: Shape) -> Shape:
    return {**shape, "type": [shape["type"], "null"]}


NAME = _text("Its name.")
ID = {"type": "string", "format": "uuid"}
RUN_ID: Shape = {**ID, "description": "The run."}
USER_ID: Shape = {**ID, "description": "The person."}
ROLE = _text("owner, admin, member, reviewer or viewer.")
TIME = _text("A moment in ISO 8601, UTC.")
USD = _text("US dollars as decimal text.")
SHA256 = _text("SHA-256 in hexadecimal digits.")
VERSION = _count("The version that the change made.")
REASON = _text("Why.")
BEFORE = _object("The values before the change, of the fields that changed.")
AFTER = _object("The values after the change.")
CHANGE = {"before": BEFORE, "after": AFTER}
PREFIX = _text("The first characters of the key, by which people recognize it.")
REVIEW_ID: Shape = {**ID, "description": "The run's place in the review queue."}
ROUND = _count("The round of the run, from 0; of a review, from 1.")
DIGEST = _text("Digest of a plan.")
SCOPE = _text("team, or site if all teams are meant.")
CAUSE = _object("The change, or the fault of a run, that this follows from.")
BUDGET = {
    "kind": _text("What it limits: team, member or key."),
    "target": _text("Whom or what it limits, in words."),
    "period": _text("day or month."),
    "limit_usd": USD,
}
WEBHOOK_NAME = _text("Name of the webhook.")
MODEL_TEST = {
    "name": NAME,
    "ok": _flag("It answered as expected."),
    "latency_ms": _count("Milliseconds until its answer was complete, or it failed."),
    "model": _text("The model that answered, as the provider names it; or empty."),
    "error_code": _text("What went wrong, as a word; or empty."),
    "message": _text("What went wrong, for people; or empty."),
    "abilities": _object("What the model can do, by the names of the probes."),
}


@dataclass(frozen=True)
class Action:
    """What entries of one action hold."""

    description: str
    subject: str
    """Type of the target."""
    facts: Mapping[str, Shape] = field(default_factory=dict)
    optional: Mapping[str, Shape] = field(default_factory=dict)
    """Facts that entries may lack."""
    texts: tuple[str, ...] = ()
    """Names of texts that are kept apart; all may be missing."""
    outcomes: tuple[str, ...] = ("success",)

    def schema(self, action: str) -> dict[str, Any]:
        """Return its definition."""
        texts = {
            name: {
                "type": "object",
                "properties": {
                    "bytes": {"type": "integer"},
                    "digest": {"type": "string"},
                },
                "required": ["bytes", "digest"],
                "additionalProperties": False,
            }
            for name in self.texts
        }
        return {
            "type": "object",
            "description": self.description,
            "properties": {
                "action": {"const": action},
                "outcome": {"enum": list(self.outcomes)},
                "targets": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"type": {"const": self.subject}, "id": ID},
                        "required": ["type", "id"],
                        "additionalProperties": False,
                    },
                    "minItems": 1,
                    "maxItems": 1,
                },
                "data": {
                    "type": "object",
                    "properties": {**self.facts, **self.optional},
                    "required": list(self.facts),
                    "additionalProperties": False,
                },
                "bodies": {
                    "type": "object",
                    "properties": texts,
                    "additionalProperties": False,
                },
            },
            "required": ["action", "outcome", "targets", "data", "bodies"],
        }


def _deleted(what: str, subject: str, **facts: Shape) -> Action:
    return Action(f"{what} was deleted.", subject, {"before": BEFORE, **facts})


ACTIONS: Mapping[str, Action] = {
    # --- teams and people ---
    "team.created": Action(
        "A team was created.",
        "team",
        {"slug": _text("Its name in addresses."), "name": NAME},
    ),
    "team.updated": Action("Name or rates of a team were changed.", "team", CHANGE),
    "team.deleted": Action(
        "A team was deleted; its chain remains.",
        "team",
        {"slug": _text("Its name in addresses."), "name": NAME},
    ),
    "team.suspended": Action(
        "All runs of a team, or of the site, were stopped.",
        "team",
        {"reason": REASON, "scope": SCOPE},
    ),
    "team.resumed": Action(
        "A stop of runs was lifted.",
        "team",
        {"reason": _text("Why they were stopped."), "scope": SCOPE},
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
            "scopes": _words("What it may do."),
            "allowed_tiers": _words("Tiers it may use. Empty: all."),
            "allowed_workers": _words("Workers it may use. Empty: all."),
            "requests_per_minute": _or_null(_count("null: no limit.")),
            "tokens_per_minute": _or_null(_count("null: no limit.")),
            "always_include_usage": _flag("Streams end with their token counts."),
            "delivery": _text("How streamed answers go out. Empty: as the tier says."),
            "progress": _text("How streams show progress."),
            "data_class": _text("Of all its prompts, at least. Empty: not stated."),
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
            "percent": _count("80 or 100."),
            "kind": BUDGET["kind"],
            "period": BUDGET["period"],
            "starts_on": _text("First day of the period."),
            "limit_usd": USD,
            "spent_usd": USD,
        },
    ),
    "budget.reservations_freed": Action(
        "What dead processes had set aside was freed.",
        "budget",
        {
            "freed_usd": USD,
            "count": _count("Reservations."),
            "runs": _words("Ids of the runs, 100 at most."),
        },
    ),
    # --- pools and models ---
    "credential.set": Action(
        "A pool file stored a provider's key.",
        "credential",
        {"name": NAME, "scheme": _text("https or http."), "host": _text("With port.")},
    ),
    "credential.created": Action(
        "A provider's key was stored.", "credential", {"name": NAME, "after": AFTER}
    ),
    "credential.updated": Action(
        "A credential was renamed, or its key replaced.",
        "credential",
        {"name": NAME, "scheme": _text("https or http."), "host": _text("With port.")},
        {**CHANGE, "is_secret_replaced": _flag("It has another key.")},
    ),
    "credential.deleted": _deleted("A credential", "credential", name=NAME),
    "worker.created": Action(
        "A worker was added.", "worker", {"name": NAME, "after": AFTER}
    ),
    "worker.updated": Action(
        "A worker was changed.",
        "worker",
        {"name": NAME, **CHANGE},
        {"because_of": CAUSE},
    ),
    "worker.deleted": _deleted("A worker", "worker", name=NAME),
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
    "conductor.deleted": _deleted("A conductor", "conductor", name=NAME),
    "conductor.tested": Action(
        "A conductor wrote a plan as a test, or failed to.",
        "conductor",
        MODEL_TEST,
        {"plan_steps": _count("Steps of its plan.")},
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
    "pool.deleted": _deleted("A pool", "pool", name=NAME),
    "pool.imported": Action(
        "A pool file was read.",
        "pool",
        {
            "name": NAME,
            "fallback": _text("The fallback worker."),
            "conductor": _or_null(_text("null: none.")),
            "workers": {
                "type": "array",
                "items": {"type": "object"},
                "description": "Name, model and base URL of each worker.",
            },
            "created": _words("What was added."),
            "changed": _words("What was changed."),
        },
        {"version": VERSION},
    ),
    # --- governance ---
    "policy.updated": Action(
        "A team's policy was changed.", "policy", {"version": VERSION, **CHANGE}
    ),
    "site_policy.updated": Action(
        "The rules for all teams were changed.",
        "policy",
        {"version": VERSION, **CHANGE},
    ),
    "approval.granted": Action(
        "A person approved a plan that waits.",
        "run",
        {
            "round": ROUND,
            "plan_digest": DIGEST,
            "approvals": _count("People who have approved it."),
            "approvals_needed": _count("People who must."),
        },
    ),
    "approval.plan_edited": Action(
        "A person put another plan in the place of one that waits.",
        "run",
        {
            "round": ROUND,
            "previous_digest": DIGEST,
            "plan_digest": DIGEST,
            "workers": _words("Of each step of the new plan."),
            "access": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
                "description": "Places of the steps whose results each step sees.",
            },
        },
        texts=("plan",),
    ),
    "approval.refused": Action(
        "A person refused a plan; its run ends.",
        "run",
        {"round": ROUND, "plan_digest": DIGEST},
        texts=("reason",),
    ),
    "feedback.recorded": Action(
        "Somebody rated an answer.",
        "run",
        {
            "rating": _text("up or down."),
            "previous_rating": _or_null(_text("null: none.")),
        },
        texts=("comment",),
    ),
    "feedback.removed": Action(
        "Somebody took a rating back.",
        "run",
        {"previous_rating": _text("up or down.")},
    ),
    "review.queued": Action(
        "A run was queued for review.",
        "run",
        {"review_id": REVIEW_ID, "reasons": _words("Why, as words.")},
    ),
    "review.reserved": Action(
        "A reviewer reserved a run.",
        "run",
        {"review_id": REVIEW_ID, "reserved_until": TIME},
    ),
    "review.released": Action(
        "A reviewer gave a reservation back.", "run", {"review_id": REVIEW_ID}
    ),
    "review.judged": Action(
        "A reviewer gave a verdict.",
        "run",
        {
            "review_id": REVIEW_ID,
            "round": ROUND,
            "place": _count("1: the first verdict of the round; 2: the second."),
            "verdict": _text("pass, needs_change or fail."),
            "scores": _object("Of each criterion: 1 to 5, or pass or fail."),
            "agrees": _or_null(_flag("With the first verdict. null: this is it.")),
        },
        texts=("reason",),
    ),
    "review.requeued": Action(
        "A reviewed run was queued again.",
        "run",
        {
            "review_id": REVIEW_ID,
            "round": ROUND,
            "previous_verdict": _text("The verdict until then."),
        },
        texts=("reason",),
    ),
    "review.commented": Action(
        "Somebody commented on a review.",
        "run",
        {"review_id": REVIEW_ID},
        texts=("text",),
    ),
    "review.settings_updated": Action(
        "Rules or rubric of reviews were changed.",
        "review",
        {"version": VERSION, **CHANGE},
    ),
    "retention.updated": Action(
        "The retention period of a team was changed.", "retention", CHANGE
    ),
    "legal_hold.placed": Action(
        "Erasure was forbidden, of a run or of the whole team.",
        "legal_hold",
        {"run_id": _or_null(RUN_ID), "reason": REASON},
    ),
    "legal_hold.released": Action(
        "A legal hold was lifted.",
        "legal_hold",
        {"run_id": _or_null(RUN_ID), "reason": REASON},
    ),
    # --- the ledger itself ---
    "audit.content_erased": Action(
        "Texts of entries were erased.",
        "team",
        {
            "bodies": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "seq": _count("Of the entry."),
                        "name": _text("Of the text."),
                        "digest": _text("As the entry has it."),
                    },
                    "required": ["seq", "name", "digest"],
                    "additionalProperties": False,
                },
                "description": "The texts.",
            },
            "reason": REASON,
        },
    ),
    "audit.verified": Action(
        "The whole chain was verified on request, or found to have faults.",
        "team",
        optional={
            "entries": _count("That were read."),
            "bodies": _count("Texts that were read."),
            "erased": _count("Texts whose erasure is recorded."),
            "checkpoints": _count("That were verified."),
            "codes": _count("Of entries, that were verified."),
            "end_seq": _count("The last entry."),
            "end_hash": _text("Its hash."),
            "fault_count": _count("Faults in all."),
            "faults": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "seq": {"type": "integer"},
                        "kind": {"type": "string"},
                        "detail": {"type": "string"},
                    },
                    "required": ["seq", "kind", "detail"],
                    "additionalProperties": False,
                },
                "description": "The first of them.",
            },
            "took_ms": _count("Milliseconds."),
            "error": _text("Why the verification broke off."),
        },
        outcomes=("success", "failure"),
    ),
    "audit.head_accepted": Action(
        "The operator accepted a chain as it stands.",
        "team",
        {"at": _count("The last entry until then."), "reason": REASON},
    ),
    "run.exported": Action(
        "The record of a run was exported.",
        "team",
        {
            "run_id": RUN_ID,
            "entries": _count("Entries in the file."),
            "checkpoint": _count("Entries that the signed tree covers."),
            "sha256": SHA256,
        },
    ),
    "ledger_export.requested": Action(
        "An export of the ledger was requested.",
        "ledger_export",
        {
            "format": _text("jsonl, csv or bundle."),
            "texts": _flag("With texts that are kept apart."),
            "filter": _object("What was given of the filter."),
            "through": _count("The last entry it may hold."),
        },
    ),
    "ledger_export.completed": Action(
        "An export was made, or failed.",
        "ledger_export",
        optional={
            "entries": _count("Entries in the file."),
            "bytes": _count("Of the file."),
            "sha256": SHA256,
            "error": _text("Why there is no file."),
        },
        outcomes=("success", "failure"),
    ),
    "ledger_export.downloaded": Action(
        "Somebody downloaded an export.",
        "ledger_export",
        {"sha256": SHA256, "bytes": _count("Of the file.")},
    ),
    "ledger_export.deleted": Action(
        "An export was deleted.",
        "ledger_export",
        {"was_complete": _flag("There was a file.")},
    ),
    # --- files and batches ---
    "file.created": Action(
        "A file was uploaded, or made of the results of a batch.",
        "file",
        {
            "purpose": _text("As in the API."),
            "bytes": _count("Its size."),
            "digest": _text("SHA-256 of its content."),
        },
    ),
    "file.deleted": Action(
        "A file was deleted.", "file", {"bytes": _count("Its size.")}
    ),
    "batch.created": Action(
        "A batch of requests was started.",
        "batch",
        {
            "endpoint": _text("Where its requests go."),
            "input_file": {**ID, "description": "The file with its requests."},
        },
    ),
    "batch.cancelled": Action("A batch was cancelled.", "batch"),
    "batch.ended": Action(
        "A batch ended.",
        "batch",
        {
            "state": _text("How."),
            "requests": _count("Lines of its file."),
            "completed": _count("Requests with an answer."),
            "failed": _count("Requests without one."),
        },
    ),
    # --- webhooks ---
    "webhook.created": Action("A webhook was added.", "webhook", {"after": AFTER}),
    "webhook.updated": Action(
        "A webhook was changed.",
        "webhook",
        CHANGE,
        {
            "is_header_replaced": _flag("It sends another header."),
            "is_url_replaced": _flag("It has another URL."),
        },
    ),
    "webhook.deleted": _deleted("A webhook", "webhook"),
    "webhook.secret_rotated": Action(
        "The secret of a webhook was replaced.", "webhook", {"name": WEBHOOK_NAME}
    ),
    "webhook.tested": Action(
        "A test was sent to a webhook.", "webhook", {"name": WEBHOOK_NAME}
    ),
    "webhook.resent": Action(
        "A message was sent again on demand.",
        "webhook",
        {"event_type": _text("Of the message."), "entry_seq": _count("Its entry.")},
    ),
    "webhook.disabled": Action(
        "The site disabled a webhook that accepts nothing.",
        "webhook",
        {"name": WEBHOOK_NAME, "reason": REASON},
    ),
    "webhook.dropped": Action(
        "Messages were given up.",
        "webhook",
        {
            "name": WEBHOOK_NAME,
            "first_seq": _count("The first entry."),
            "last_seq": _count("The last entry."),
            "count": _count("Events, or entries of a stream."),
        },
    ),
}


def entry_schema() -> dict[str, Any]:
    """Return a JSON Schema (draft 2020-12) with one definition for each action."""
    events = event_schema()["$defs"]
    definitions = {
        **events,
        **{action: each.schema(action) for action, each in ACTIONS.items()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Entries of Conductor's ledger",
        "description": "`data` has the facts of an entry. Of entries of runs, `bodies` "
        "shows the texts themselves; entries hold their length and digest. An entry "
        "from before a fact was added lacks it.",
        "$defs": definitions,
        "oneOf": [{"$ref": f"#/$defs/{action}"} for action in definitions],
    }


def schema_text() -> str:
    """Return the schema as the file has it."""
    return json.dumps(entry_schema(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(schema_text(), encoding="utf-8")
