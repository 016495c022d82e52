"""Tags and metadata of runs: read for lists, set by people and programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction

from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.plain_text import plain_line
from apps.core.validation import clean_fields, clean_items, clean_text
from apps.runs.label_types import Label, RunLabels
from apps.runs.models import Run, RunLabel

TAG_LENGTH = 50
MOST_TAGS = 20
"""Of one run."""
RUN_TAGGED = "run.tagged"


def labels_of(team_id: UUID, run_ids: Collection[UUID]) -> dict[UUID, RunLabels]:
    """Return the tags and metadata of some runs of a team, by run, in one statement."""
    rows = RunLabel.objects.for_team(team_id).filter(run_id__in=run_ids)
    tags: dict[UUID, list[str]] = defaultdict(list)
    metadata: dict[UUID, dict[str, str]] = defaultdict(dict)
    ordered = rows.order_by("name", "value")
    for run_id, name, value in ordered.values_list("run_id", "name", "value"):
        if name:
            metadata[run_id][name] = value
        else:
            tags[run_id].append(value)
    return {
        run_id: RunLabels(tuple(tags[run_id]), metadata[run_id]) for run_id in run_ids
    }


def with_labels(team_id: UUID, runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs, which then know their labels."""
    found = labels_of(team_id, [run.id for run in runs])
    for run in runs:
        run.labels = found[run.id]
    return runs


def labels_erase(team_id: UUID, run_ids: Collection[UUID]) -> None:
    """Remove all labels of some runs; with them goes what people wrote of them."""
    RunLabel.objects.for_team(team_id).filter(run_id__in=run_ids).delete()


@transaction.atomic
def run_tags_set(*, run: Run, tags: Any, actor: Actor) -> tuple[str, ...]:
    """Give a run these tags and no others; return them. On record if that changes any.

    Raises: InvalidFields.
    """
    wanted = clean_fields({"tags": tags}, {"tags": _clean_tags})["tags"]
    # The run's row is locked: two who change its tags at once do so one by one.
    Run.objects.for_team(run.team_id).select_for_update().get(id=run.id)
    present = set(labels_of(run.team_id, [run.id])[run.id].tags)
    rows = RunLabel.objects.for_team(run.team_id).filter(run_id=run.id, name="")
    gone = present - wanted.keys()
    new = [tag for tag in wanted if tag not in present]
    if gone or new:
        rows.filter(value__in=gone).delete()
        RunLabel.objects.bulk_create(
            RunLabel(team_id=run.team_id, name="", value=tag, run_id=run.id)
            for tag in new
        )
        _record(run, tuple(wanted), len(new), len(gone), actor)
    return tuple(sorted(wanted))


def label_read(text: str) -> Label | None:
    """Return the label that `tag` or `name=value` names; None: it makes no sense."""
    name, sign, value = text.partition("=")
    if not sign:
        return Label("", text) if text else None
    return Label(name, value) if name else None


def labels_named(texts: Sequence[str]) -> tuple[Label, ...]:
    """Return the labels that texts name; those that make no sense are left out."""
    return tuple(label for text in texts if (label := label_read(text)))


def _clean_tags(value: Any) -> dict[str, None]:
    """Return the tags, each once, in the order given."""
    tags = dict.fromkeys(
        plain_line(clean_text(each, "tag", TAG_LENGTH)) for each in clean_items(value)
    )
    if len(tags) > MOST_TAGS:
        raise ValueError(f"a run has at most {MOST_TAGS} tags")
    if any("," in tag for tag in tags):
        raise ValueError("a tag has no comma")
    return tags


def _record(
    run: Run, tags: Sequence[str], added: int, removed: int, actor: Actor
) -> None:
    facts = {"added": added, "removed": removed}
    texts = {"tags": orjson.dumps(tags).decode()}
    draft = EntryDraft(RUN_TAGGED, "run", run.id, actor, facts, texts)
    entries_append(batch=Batch(run.team_id, (draft,)))
