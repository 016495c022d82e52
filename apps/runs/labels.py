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
from apps.runs.selection import RunsChanged, UnchangedReason

TAG_LENGTH = 50
MOST_TAGS = 20
"""Of one run."""
RUN_TAGGED = "run.tagged"
TAGGED_BATCH_SIZE = 100
"""Runs whose tags change in one transaction; it holds the team's chain at its end."""


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
        draft = _draft(run, tuple(wanted), len(new), len(gone), actor)
        entries_append(batch=Batch(run.team_id, (draft,)))
    return tuple(sorted(wanted))


def runs_tags_change(
    *,
    team_id: UUID,
    runs: Sequence[Run],
    add: Any = (),
    remove: Any = (),
    actor: Actor,
) -> RunsChanged:
    """Add tags to runs of a team and remove others; the rest of their tags stay.

    On record for each run that it changes. Raises: InvalidFields.
    """
    new = tuple(clean_fields({"tags": add}, {"tags": _clean_tags})["tags"])
    gone = frozenset(clean_fields({"tags": remove}, {"tags": _clean_tags})["tags"])
    changed: list[Run] = []
    unchanged: dict[UnchangedReason, list[Run]] = defaultdict(list)
    for start in range(0, len(runs), TAGGED_BATCH_SIZE):
        batch = runs[start : start + TAGGED_BATCH_SIZE]
        with transaction.atomic():
            reasons = _tags_change(team_id, batch, new, gone, actor)
        for run, reason in zip(batch, reasons, strict=True):
            (unchanged[reason] if reason else changed).append(run)
    return RunsChanged(changed, unchanged)


def _tags_change(
    team_id: UUID,
    runs: Sequence[Run],
    new: Sequence[str],
    gone: Collection[str],
    actor: Actor,
) -> list[UnchangedReason | None]:
    """Change the tags of a batch; return for each run why it was left, if it was."""
    ids = [run.id for run in runs]
    # In the order of their ids: two who change the same runs never wait for each other.
    locked = Run.objects.for_team(team_id).select_for_update().filter(id__in=ids)
    list(locked.order_by("id").values_list("id"))
    labels = labels_of(team_id, ids)
    reasons: list[UnchangedReason | None] = []
    rows: list[RunLabel] = []
    drafts: list[EntryDraft] = []
    for run in runs:
        present = labels[run.id].tags
        kept = [tag for tag in present if tag not in gone]
        added = [tag for tag in new if tag not in present]
        reason = _obstacle(present, kept, added, is_adding=bool(new))
        reasons.append(reason)
        if reason is None:
            rows += (
                RunLabel(team_id=team_id, name="", value=tag, run_id=run.id)
                for tag in added
            )
            removed = len(present) - len(kept)
            drafts.append(_draft(run, [*kept, *added], len(added), removed, actor))
    if drafts:
        RunLabel.objects.for_team(team_id).filter(
            run_id__in=[draft.subject_id for draft in drafts], name="", value__in=gone
        ).delete()
        RunLabel.objects.bulk_create(rows)
        entries_append(batch=Batch(team_id, tuple(drafts)))
    return reasons


def _obstacle(
    present: Sequence[str],
    kept: Sequence[str],
    added: Sequence[str],
    *,
    is_adding: bool,
) -> UnchangedReason | None:
    """Return why the tags of a run stay as they are; None: they change."""
    if added and len(kept) + len(added) > MOST_TAGS:
        return UnchangedReason.TOO_MANY_TAGS
    if added or len(kept) < len(present):
        return None
    return UnchangedReason.HAS_TAGS if is_adding else UnchangedReason.LACKS_TAGS


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


def _draft(
    run: Run, tags: Sequence[str], added: int, removed: int, actor: Actor
) -> EntryDraft:
    facts = {"added": added, "removed": removed}
    texts = {"tags": orjson.dumps(tags).decode()}
    return EntryDraft(RUN_TAGGED, "run", run.id, actor, facts, texts)
