"""The corpus of hostile texts, and a team in which everything is named by it.

Each text has a marker, so that a test knows where it was shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import orjson
from django.apps import apps
from django.db import models, transaction

from apps.accounts.models import Role, Team, User
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.ids import new_id
from apps.engine.codec import encode
from apps.governance.models import ReviewItem, ReviewState
from apps.runs.models import PlanApproval, Run, RunState
from apps.runs.types import RecordedEvent
from tests.factories import ACTOR
from tests.playground import stories
from tests.rest.conftest import Caller, member
from tests.security.world import WAITING, World, build_world

ACTS = "window.acted=true"
FAR = "//elsewhere.example"
MARKER = "hostile-text"

SHORT = (
    f'"><script>{ACTS}</script>',
    f"'><img src={FAR}/x onerror={ACTS}>",
    f"<svg/onload={ACTS}>",
    f"[x](javascript:{ACTS})",
    f"</title></textarea><iframe src={FAR}>",
    f'" autofocus onfocus="{ACTS}',
    "{{ request.user.email }}{% debug %}",
    f"javascript:{ACTS}//",
)
"""They fit into a name."""
LONG = f"""# Heading

<script>{ACTS}</script><script src="{FAR}/x.js"></script>
<img src="http:{FAR}/p.png" onerror="{ACTS}"><svg onload="{ACTS}"></svg>
<iframe srcdoc="<script>parent.acted=true</script>"></iframe>
<object data="{FAR}"></object><embed src="{FAR}"><link rel="stylesheet" href="{FAR}">
<form action="http:{FAR}/"><input autofocus onfocus="{ACTS}"><button>Go</button></form>
<style>body {{ display: none }} @import "{FAR}/x.css";</style>
<base href="http:{FAR}/"><meta http-equiv="refresh" content="0;url=http:{FAR}/">
<a href="javascript:{ACTS}">raw</a><a href="java&#10;script:{ACTS}">split</a>
<details open ontoggle="{ACTS}"><summary>x</summary></details>
</textarea></title></pre></code></template><script>{ACTS}</script>
]]><!--><script>{ACTS}</script>-->

[link](javascript:{ACTS}) [data](data:text/html,<script>{ACTS}</script>)
[upper](JaVaScRiPt:{ACTS}) <javascript:{ACTS}> [vb](vbscript:{ACTS})
![pixel](http:{FAR}/pixel.png) ![ref][far]

[far]: http:{FAR}/reference.png "{ACTS}"

| a | b |
|---|---|
| <img src=x onerror={ACTS}> | [c](javascript:{ACTS}) |

```html
<script>{ACTS}</script>
```
"""
NAMES = {
    "actor_name",
    "author_name",
    "decided_by",
    "description",
    "error_message",
    "model",
    "name",
    "placed_by",
    "pool_name",
    "reason",
    "released_by",
    "reserved_name",
    "reviewer_name",
    "title",
}
"""Columns that hold what people or models wrote."""


def waiting() -> list[RecordedEvent]:
    """A run whose plan waits for an approval."""
    recording = stories.Recording().at(0, stories.created())
    return recording.at(20, WAITING).entries


STORIES = {
    "finished": stories.finished,
    "failed": stories.failed,
    "rescued": stories.rescued,
    "rejected": stories.rejected,
    "planned again": stories.planned_again,
    "cancelled": stories.cancelled,
    "called tools": stories.called_tools,
    "waiting": waiting,
}
PLAIN = {"Worker.name", "Conductor.name", "Pool.name", "Tier.name"}
"""Columns that the database itself keeps to letters, digits and a few signs."""
KEPT = {"role", "type", "id", "finish_reason", "tool_call_id"}
"""Keys of JSON texts that are no text of a model."""
KEPT_FACTS = {"tier", "planner", "code", "outcome", "stage", "finish_reason"}
"""Facts from lists of our own."""
_rounds = itertools.cycle(SHORT)


def short(where: str, length: int = 100) -> str:
    """Return a hostile name with its marker, cut to what a column holds."""
    return f"{MARKER}-{where} {next(_rounds)}"[:length]


def long(where: str) -> str:
    return f"{MARKER}-{where}\n\n{LONG}"


def hostile_world() -> World:
    """Return the world of two teams, with everything in the first one hostile."""
    world = build_world()
    runs = {name: _record(world.team, make()) for name, make in STORIES.items()}
    review = ReviewItem.objects.create(
        run_id=runs["finished"],
        team=world.team,
        reasons=",manual,",
        state=ReviewState.WAITING,
        queued_at=stories.START,
    )
    Run.objects.for_team(world.team.id).update(finished_at=stories.START)
    approvals = PlanApproval.objects.for_team(world.team.id)
    approvals.update(run_id=runs["waiting"])
    _speak(member(world.people[Role.OWNER]), runs.values(), review.id)
    _policy(member(world.people[Role.OWNER]))
    _rename(world.team)
    _fill_ledger(world.team)
    places = {"run_id": runs["finished"], "left": runs["finished"]}
    places |= {"right": runs["failed"], "review_id": review.id}
    return replace(world, arguments={**world.arguments, **places})


def hostile_runs(team: Team) -> list[Any]:
    """Return the ids of all runs, one for each way a run can go."""
    return list(Run.objects.for_team(team.id).values_list("id", flat=True))


def _record(team: Team, events: Iterable[RecordedEvent]) -> Any:
    """Put a run on record whose every text and name is hostile."""
    run_id = new_id()
    actor = replace(ACTOR, display=short("actor"))
    drafts = []
    for recorded in events:
        record = encode(recorded.event)
        data = {name: _fact(name, value) for name, value in record.data.items()}
        bodies = {name: _body(name, text) for name, text in record.bodies.items()}
        drafts.append(EntryDraft(record.action, "run", run_id, actor, data, bodies))
    with transaction.atomic():
        entries_append(batch=Batch(team.id, tuple(drafts)))
    Run.objects.create(
        id=run_id,
        team=team,
        state=RunState.COMPLETED,
        source="playground",
        model="conductor-ultra",
        pool_name="pool",
        pool_version=1,
        title="title",
        actor_type="user",
        actor_id="1",
        actor_name="actor",
        created_at=stories.START,
        plan=[{"worker": short("plan"), "access": [], "state": "completed"}],
        error_message="error",
        finished_at=stories.START,
    )
    return run_id


def _fact(name: str, value: Any) -> Any:
    if name in KEPT_FACTS:
        return value
    if isinstance(value, str) and value:
        return short(f"fact-{name}")
    if isinstance(value, list) and value and isinstance(value[0], str):
        return [short(f"fact-{name}") for _ in value]
    return value


def _body(name: str, text: str) -> str:
    """Return a body of the same form, JSON or plain, with hostile texts."""
    try:
        return orjson.dumps(_inside(name, orjson.loads(text))).decode()
    except orjson.JSONDecodeError:
        return long(f"body-{name}") if text else text


def _inside(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return long(f"body-{name}")
    if isinstance(value, list):
        return [_inside(name, each) for each in value]
    if isinstance(value, dict):
        return {
            key: each if key in KEPT else _inside(name, each)
            for key, each in value.items()
        }
    return value


def _speak(owner: Caller, runs: Iterable[Any], review_id: Any) -> None:
    """Say hostile things where people say something."""
    for run_id in runs:
        body = {"rating": "down", "comment": long("feedback")[:1000]}
        answer = owner.post(f"runs/{run_id}/feedback/", body)
        assert answer.status_code in (200, 201), answer.content
    answer = owner.post(
        f"reviews/{review_id}/comments/", {"text": long("comment")[:1000]}
    )
    assert answer.status_code in (200, 201), answer.content


def _policy(owner: Caller) -> None:
    """Rules whose names, words and patterns are hostile."""
    rules = [
        {
            "name": short("rule", 80),
            "mode": "shadow",
            "conditions": {"words": [short("word", 80)]},
            "effect": {"kind": "deny"},
        },
    ]
    answer = owner.put("policy/", {"rules": rules}, if_match="*")
    assert answer.status_code == 200, answer.content


def _rename(team: Team) -> None:
    """Give every row of the team, and its people, hostile names, past all checks."""
    people = User.objects.filter(memberships__team=team)
    for user in people:
        User.objects.filter(pk=user.pk).update(name=short("User-name"))
    Team.objects.filter(pk=team.pk).update(name=short("Team-name"))
    for model in apps.get_models():
        if model._meta.app_label == "audit" or not _is_of_a_team(model):
            continue
        for field in model._meta.concrete_fields:
            is_plain = f"{model.__name__}.{field.name}" in PLAIN
            if field.name in NAMES and not field.choices and not is_plain:
                _rename_column(model, field, team)


def _is_of_a_team(model: type[models.Model]) -> bool:
    return any(field.attname == "team_id" for field in model._meta.concrete_fields)


def _rename_column(model: type[models.Model], field: Any, team: Team) -> None:
    manager: Any = model._default_manager
    rows = manager.filter(team_id=team.pk)
    rows = rows.across_teams() if hasattr(rows, "across_teams") else rows
    where = f"{model.__name__}-{field.name}"
    for pk in rows.values_list("pk", flat=True):
        value = short(where, field.max_length or 200)
        rows.filter(pk=pk).update(**{field.name: value})


def _fill_ledger(team: Team) -> None:
    """Entries of other actions, with hostile facts, actors and contexts."""
    actor = Actor("user", "1", short("ledger-actor"))
    facts = {"before": {"name": short("before")}, "after": {"name": short("after")}}
    draft = EntryDraft("worker.updated", "worker", new_id(), actor, facts, {})
    with transaction.atomic():
        entries_append(batch=Batch(team.pk, (draft,)))
