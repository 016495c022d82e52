"""Shapes of facts, and what is declared of an action: for `ledger_entry_schema`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Shape = Mapping[str, Any]


def text(description: str) -> Shape:
    """Return the shape of a text."""
    return {"type": "string", "description": description}


def count(description: str) -> Shape:
    """Return the shape of a number, 0 or more."""
    return {"type": "integer", "minimum": 0, "description": description}


def flag(description: str) -> Shape:
    """Return the shape of true or false."""
    return {"type": "boolean", "description": description}


def words(description: str) -> Shape:
    """Return the shape of a list of texts."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


def mapping(description: str) -> Shape:
    """Return the shape of an object of any fields."""
    return {"type": "object", "description": description}


def or_null(shape: Shape) -> Shape:
    """Return a shape that may also be null."""
    return {**shape, "type": [shape["type"], "null"]}


NAME = text("Its name.")
ID = {"type": "string", "format": "uuid"}
RUN_ID: Shape = {**ID, "description": "The run."}
USER_ID: Shape = {**ID, "description": "The person."}
ROLE = text("owner, admin, member, reviewer or viewer.")
TIME = text("A moment in ISO 8601, UTC.")
USD = text("US dollars as decimal text.")
SHA256 = text("SHA-256 in hexadecimal digits.")
VERSION = count("The version that the change made.")
REASON = text("Why.")
BEFORE = mapping("The values before the change, of the fields that changed.")
AFTER = mapping("The values after the change.")
CHANGE = {"before": BEFORE, "after": AFTER}
PREFIX = text("The first characters of the key, by which people recognize it.")
REVIEW_ID: Shape = {**ID, "description": "The run's place in the review queue."}
ROUND = count("The round of the run, from 0; of a review, from 1.")
DIGEST = text("Digest of a plan.")
SCOPE = text("team, or site if all teams are meant.")
CAUSE = mapping("The change, or the fault of a run, that this follows from.")
BUDGET = {
    "kind": text("What it limits: team, member or key."),
    "target": text("Whom or what it limits, in words."),
    "period": text("day or month."),
    "limit_usd": USD,
}
WEBHOOK_NAME = text("Name of the webhook.")
ALERT_KIND = text("Of the rule: budget, worker, runs and so on; or test.")
ALERT_NAME = text("Of the worker or budget; empty: the whole team, or a run.")
ALERT = {
    "kind": ALERT_KIND,
    "name": ALERT_NAME,
    "about": text("Id of the worker, budget or run; empty: the whole team."),
    "severity": text("warning or critical."),
    "figures": mapping("What was measured, as whole numbers."),
    "channels": words("How people and programs hear of it: bell, mail, webhook."),
    "is_muted": flag("Nothing is sent about it."),
}
MODEL_TEST = {
    "name": NAME,
    "ok": flag("It answered as expected."),
    "latency_ms": count("Milliseconds until its answer was complete, or it failed."),
    "model": text("The model that answered, as the provider names it; or empty."),
    "error_code": text("What went wrong, as a word; or empty."),
    "message": text("What went wrong, for people; or empty."),
    "abilities": mapping("What the model can do, by the names of the probes."),
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


def deleted(what: str, subject: str, **facts: Shape) -> Action:
    """Return the action of a deletion."""
    return Action(f"{what} was deleted.", subject, {"before": BEFORE, **facts})
