"""Derives the rows of runs, steps and usage days from the ledger, and compares.

Rows are read in pages with the entries of their runs, so a team of any size needs no
more memory than its days of usage have rows. It runs beside runs that execute: what
differs is read again before it is reported. Texts are compared and never quoted.

Not in the entries, so not compared: a run's source, the model as its caller named it,
who owns it now. Loops rest on texts, which are read for runs that can have one; once
those are erased, loops are left as they are. Times of rows come from a process's clock
and those of entries from the database's: they must lie near each other.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import orjson
from django.db.models import Exists, OuterRef

from apps.accounts.models import Team
from apps.audit.errors import EntryUnreadable
from apps.audit.models import Entry
from apps.audit.rows import RowFault, RowReport
from apps.audit.selectors import entries_by_subject
from apps.audit.types import EntryView
from apps.core.errors import SecretUnreadable
from apps.engine import events as ev
from apps.engine.messages import typed_last
from apps.engine.ports import Message
from apps.runs.models import Run, Source, Step
from apps.runs.preset_use import preset_used
from apps.runs.records.end_facts import LOOP
from apps.runs.records.history import events_in
from apps.runs.records.projection import (
    CHANGING,
    STEP_COLUMNS,
    run_columns,
    step_columns,
    title_of,
)
from apps.runs.records.run_params import params_of
from apps.runs.records.run_view import RunView
from apps.runs.records.usage_checks import (
    NONE,
    DerivedDays,
    check_days,
    has_broken_off,
    kept_days,
    totals,
)

PAGE = 50
"""Runs compared at once, with all their entries."""
NEAR = timedelta(minutes=10)
"""How far the clocks of a process and of the database may be apart, with what a commit
takes when the database is away."""
TRIES = 5
"""Times that the rows of a run are read again if they differ: it may be executing."""
TEXTS = ("prompt", "params", "message")
"""Bodies of entries that rows hold a part of."""
LOOP_TEXTS = (*TEXTS, "subtasks", "text")
"""Those that loops follow from as well."""
END_FACTS = ("first_token_ms", "asked_tokens", "answer_tokens", "findings")
"""Columns that are empty for runs that ended before they were noted."""
UNRECORDED = frozenset(
    {
        "planner",
        "plan",
        "shape",
        "steps_total",
        "steps_done",
        "orchestration_prompt_tokens",
        "orchestration_completion_tokens",
        *END_FACTS,
    }
)
"""Columns of a run that broke off which may hold what came to no entry."""
HIDDEN = "(not shown)"
UNREADABLE = "they cannot be read"
_READING_ERRORS = (
    EntryUnreadable,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
)
"""What reading entries may raise after tampering."""
_RUN_COLUMNS = (
    "pool_name",
    "pool_version",
    "title",
    "actor_type",
    "actor_id",
    "actor_name",
    "user_id",
    "api_key_id",
    "ab_test_id",
    "ab_arm",
    "tier",
    "family",
    "preset_id",
    "source",
    "created_at",
    "finished_at",
    *CHANGING,
)
_LONG_COLUMNS = frozenset({"plan", "findings"})
_HIDDEN_COLUMNS = frozenset({"title", "error_message", "actor_name"})


class _Story(NamedTuple):
    """What the ledger tells of one run."""

    entries: Sequence[EntryView] = ()
    has_texts: bool = True
    """False: they do not open, so what rows hold of them is not compared."""


class _Rows(NamedTuple):
    """The rows of one run as they are stored."""

    run: Mapping[str, Any]
    steps: Mapping[tuple[int, int], tuple[Any, ...]]


def rows_check(team_id: uuid.UUID, run_id: uuid.UUID | None, report: RowReport) -> None:
    """Compare a team's runs, steps and days of usage, or one run and its steps.

    Satisfies `audit.rows.RowCheck`.
    """
    if not Team.objects.filter(id=team_id).exists():
        return  # its rows went with it, the chain stays
    days = kept_days(team_id) if run_id is None else DerivedDays()
    for page in _pages(team_id, run_id):
        steps = _steps([run["id"] for run in page])
        rows = [_Rows(run, steps.get(run["id"], {})) for run in page]
        stories = _page_stories(team_id, rows)
        for each in rows:
            _check_run(team_id, each, stories[each.run["id"]], days, report)
    _check_missing(team_id, run_id, report)
    if run_id is None:
        check_days(team_id, days, report)


# --- reading -------------------------------------------------------------------------


def _pages(
    team_id: uuid.UUID, run_id: uuid.UUID | None
) -> Iterator[list[dict[str, Any]]]:
    runs = Run.objects.for_team(team_id).order_by("id")
    if run_id is not None:
        yield list(runs.filter(id=run_id).values("id", *_RUN_COLUMNS))
        return
    page = list(runs.values("id", *_RUN_COLUMNS)[:PAGE])
    while page:
        yield page
        after = runs.filter(id__gt=page[-1]["id"])
        page = list(after.values("id", *_RUN_COLUMNS)[:PAGE])


def _steps(
    run_ids: Sequence[uuid.UUID],
) -> dict[uuid.UUID, dict[tuple[int, int], tuple[Any, ...]]]:
    rows = Step.objects.across_teams().filter(run_id__in=run_ids)
    found: dict[uuid.UUID, dict[tuple[int, int], tuple[Any, ...]]] = {}
    for run_id, round_, index, *values in rows.values_list(
        "run_id", "round", "index", *STEP_COLUMNS
    ):
        found.setdefault(run_id, {})[round_, index] = tuple(values)
    return found


def _page_stories(team_id: uuid.UUID, page: Sequence[_Rows]) -> dict[uuid.UUID, _Story]:
    looped = [rows.run["id"] for rows in page if _can_have_loop(rows)]
    others = [rows.run["id"] for rows in page if rows.run["id"] not in looped]
    found = _stories(team_id, others)
    return found | _stories(team_id, looped, LOOP_TEXTS) if looped else found


def _can_have_loop(rows: _Rows) -> bool:
    """Say whether a run may have done work twice: in two rounds, or with one worker.

    Its steps are compared with their entries beside this, so that none is hidden.
    """
    if _loops_in(rows.run["findings"]):
        return True
    places = [(round_, values[0]) for (round_, _), values in rows.steps.items()]
    rounds = {round_ for round_, _ in places}
    is_short = len(places) < rows.run["steps_total"]
    return is_short or len(rounds) > 1 or len(set(places)) < len(places)


def _stories(
    team_id: uuid.UUID, run_ids: Sequence[uuid.UUID], texts: Sequence[str] = TEXTS
) -> dict[uuid.UUID, _Story]:
    """Read the entries of some runs, with these texts.

    What is wrong with those that cannot be read, the check of the chain says.
    """
    try:
        entries = entries_by_subject(team_id, run_ids, texts=texts)
    except (SecretUnreadable, *_READING_ERRORS):
        if len(run_ids) == 1:
            return {run_ids[0]: _story_without_texts(team_id, run_ids[0])}
        # Find which.
        return {id: _stories(team_id, [id], texts)[id] for id in run_ids}
    return {id: _Story(entries.get(id, ())) for id in run_ids}


def _story_without_texts(team_id: uuid.UUID, run_id: uuid.UUID) -> _Story:
    try:
        entries = entries_by_subject(team_id, [run_id], texts=()).get(run_id, ())
    except _READING_ERRORS:
        entries = ()
    return _Story(entries, has_texts=False)


# --- one run -------------------------------------------------------------------------


def _check_run(
    team_id: uuid.UUID,
    rows: _Rows,
    story: _Story,
    days: DerivedDays,
    report: RowReport,
) -> None:
    view, faults = _differences(rows, story)
    if faults:
        rows, story = _read_settled(team_id, rows.run["id"])
        view, faults = _differences(rows, story)
    report.checked["runs"] += 1
    report.checked["steps"] += len(rows.steps)
    for fault in faults:
        report.blame(fault)
    if view is not None:
        days.add(rows.run, view)


def _read_settled(team_id: uuid.UUID, run_id: uuid.UUID) -> tuple[_Rows, _Story]:
    """Read a run's rows and entries as one moment has both, if it lets us."""
    rows = _read_rows(team_id, run_id)
    for _ in range(TRIES):
        before, story = rows, _page_stories(team_id, [rows])[run_id]
        rows = _read_rows(team_id, run_id)
        if rows == before:
            break
    return rows, story


def _read_rows(team_id: uuid.UUID, run_id: uuid.UUID) -> _Rows:
    ((run,),) = _pages(team_id, run_id)
    return _Rows(run, _steps([run_id]).get(run_id, {}))


def _differences(rows: _Rows, story: _Story) -> tuple[RunView | None, list[RowFault]]:
    """Return what the entries come to, and where the rows say something else."""
    name = f"run {rows.run['id']}"
    if not story.entries:
        why = NONE if story.has_texts else UNREADABLE
        return None, [RowFault(name, "entries", "a row", why)]
    view = RunView()
    try:
        events = [recorded.event for recorded in events_in(story.entries)]
        for event in events:
            view.add(event)
    except _READING_ERRORS:
        events = []
    if not events or not isinstance(events[0], ev.RunCreated):
        return None, [RowFault(name, "entries", "a row", UNREADABLE)]
    derived = _derived(rows.run, story, events[0], view)
    faults = [
        _fault(name, column, rows.run[column], value)
        for column, value in derived.items()
        if not _is_alike(column, rows.run[column], value, view)
    ]
    return view, [*faults, *_step_faults(rows, view)]


def _derived(
    run: Mapping[str, Any], story: _Story, created: ev.RunCreated, view: RunView
) -> dict[str, Any]:
    """Return the columns that follow from the entries, as these have them."""
    first, last = story.entries[0], story.entries[-1]
    derived = dict(zip(CHANGING, run_columns(view), strict=True))
    derived |= {
        "pool_name": created.pool,
        "pool_version": created.pool_version,
        "title": title_of(_typed(created)),
        "ab_test_id": uuid.UUID(created.ab_test) if created.ab_test else None,
        "ab_arm": created.ab_arm,
        "tier": created.tier,
        "family": created.family,
        "preset_id": _preset_of(created),
        "actor_type": first.actor.type,
        "actor_id": first.actor.id,
        "actor_name": first.actor.display,
        "created_at": first.recorded_at,
        "finished_at": last.recorded_at if view.end else None,
    }
    for column, kind in (("user_id", "user"), ("api_key_id", "api_key")):
        if run[column] is not None and first.actor.type == kind:
            derived[column] = uuid.UUID(first.actor.id)  # empty once they are deleted
    if has_broken_off(view):
        derived = {k: v for k, v in derived.items() if k not in UNRECORDED}
        derived |= totals(view)
    derived = {k: v for k, v in derived.items() if k not in _unknown(run, created)}
    if not story.has_texts:
        del derived["title"], derived["error_message"]
    elif not created.prompt and not run["error_message"]:
        del derived["error_message"]  # it went with the prompt, before its own time
    return derived


def _unknown(run: Mapping[str, Any], created: ev.RunCreated) -> Set[str]:
    """Return the columns that the entries of an older run, or its kind, leave open."""
    found: set[str] = set()
    if created.ab_arm == "b":
        found.add("tier")  # theirs is that of the candidate, which nobody named
    if run["preset_id"] is None:
        found.add("preset_id")
    if run["shape"] is None:
        found.add("shape")
    if not created.family and run["source"] == Source.EVALUATION:
        found.add("family")  # older evaluations did not record it
    if run["findings"] is None:
        found |= set(END_FACTS)
    if not created.prompt:
        found.add("asked_tokens")
    return found


def _preset_of(created: ev.RunCreated) -> uuid.UUID | None:
    use = preset_used(created)
    return use.preset_id if use else None


def _typed(created: ev.RunCreated) -> str:
    params = params_of(created)
    messages: list[Message] = params.get("messages", [])
    return typed_last(messages, created.prompt, len(params.get("attachments", ())))


def _is_alike(column: str, stored: Any, derived: Any, view: RunView) -> bool:
    if column == "shape" and view.end is None:
        return True
    if column == "title" and stored == title_of(view.prompt):
        return True  # of a conversation, as rows once had it
    if column == "plan":
        return _is_same_plan(stored, orjson.loads(derived), view)
    if column == "findings":
        return _are_same_findings(stored, orjson.loads(derived or "[]"), view)
    if isinstance(stored, datetime) and isinstance(derived, datetime):
        return abs(stored - derived) <= NEAR
    return bool(stored == derived)


def _is_same_plan(stored: Any, derived: Any, view: RunView) -> bool:
    """Compare the small graphs.

    Of a run that executes, or was given up, its row need not know what has been begun.
    """
    end = view.end
    if end is None:
        return True
    is_given_up = isinstance(end, ev.RunFailed) and not end.latency_ms
    if is_given_up and isinstance(stored, list):
        for plan in (stored, derived):
            for step in plan:
                step.pop("worker", None)
    return bool(stored == derived)


def _loops_in(findings: Any) -> list[Any]:
    try:
        return [each for each in findings or () if each["stage"] == LOOP]
    except _READING_ERRORS:
        return []  # no list of findings: it differs in any case


def _are_same_findings(stored: Any, derived: Any, view: RunView) -> bool:
    """Compare faults, and loops where their texts were read and are not erased."""
    if any(step.subtask for step in view.steps):
        return bool(stored == derived)
    loops = _loops_in(stored)
    if not isinstance(stored, list):
        return False
    told = [each for each in derived if each["stage"] != LOOP]
    return [each for each in stored if each not in loops] == told


def _step_faults(rows: _Rows, view: RunView) -> Iterator[RowFault]:
    derived = {step.place: step_columns(step) for step in view.steps if step.is_over}
    for place in sorted(rows.steps.keys() | derived.keys()):
        name = f"step {place[0]}.{place[1]} of run {rows.run['id']}"
        stored, told = rows.steps.get(place), derived.get(place)
        if stored is None or told is None:
            found = ("a row", NONE) if told is None else (NONE, "a row")
            yield RowFault(name, "entries", *found)
            continue
        for column, left, right in zip(STEP_COLUMNS, stored, told, strict=True):
            if left != right:
                yield _fault(name, column, left, right)


def _fault(name: str, column: str, stored: Any, derived: Any) -> RowFault:
    if column in _HIDDEN_COLUMNS:
        return RowFault(name, column, HIDDEN, HIDDEN)
    if column in _LONG_COLUMNS:
        return RowFault(name, column, f"another {column}", "that of its entries")
    return RowFault(name, column, str(stored), str(derived))


def _check_missing(
    team_id: uuid.UUID, run_id: uuid.UUID | None, report: RowReport
) -> None:
    """Find runs that are on record and have no row."""
    rows = Run.objects.across_teams().filter(id=OuterRef("subject_id"), team_id=team_id)
    created = Entry.objects.for_team(team_id).filter(action=ev.RunCreated.action)
    if run_id is not None:
        created = created.filter(subject_id=run_id)
    missing = created.exclude(Exists(rows)).order_by("seq")
    for subject_id in missing.values_list("subject_id", flat=True).iterator():
        report.blame(RowFault(f"run {subject_id}", "entries", NONE, "a row"))
