"""Runs to try drafts on, and trials that are done at once."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Sequence
from typing import Any

from apps.audit.types import EntryDraft
from apps.core.ids import new_id
from apps.engine.codec import encode
from apps.engine.events import RunCreated
from apps.governance.trials.jobs import policy_trial_take
from tests.audit.examples import append
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.patience import eventually
from tests.rest.conftest import Caller, fault
from tests.rest.things import make_run

TRIALS = "policy/trials/"
FALCON, KESTREL = "What does Project Falcon cost?", "What does a kestrel cost?"


def runs_recorded(cast: Cast, *prompts: str) -> list[uuid.UUID]:
    """Record the beginning of a run for each prompt; the last is the newest."""
    return [run_recorded(cast, prompt) for prompt in prompts]


def run_recorded(cast: Cast, prompt: str) -> uuid.UUID:
    """Record that a run began; it has no plan."""
    run_id = new_id()
    record = encode(RunCreated(prompt, "ultra", "pool", 1, "llm", False, {}))
    append(
        cast.team.id,
        EntryDraft(record.action, "run", run_id, ACTOR, record.data, record.bodies),
    )
    make_run(cast, id=run_id, model="conductor-ultra", title=prompt)
    return run_id


def taken() -> Generator[None]:
    """Return the steps of the trial that waits."""
    steps = policy_trial_take()
    assert steps is not None
    return steps


def work() -> None:
    """Do what a process of the site does with a trial that waits."""
    for _ in taken():
        pass


def started(caller: Caller, *rules: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Start a trial and return what REST says of it."""
    answer = caller.post(TRIALS, {"rules": list(rules), **values})
    assert answer.status_code == 202, answer.content
    found: dict[str, Any] = answer.json()
    return found


def read(caller: Caller, trial: dict[str, Any]) -> dict[str, Any]:
    """Return what REST says of a trial now."""
    found: dict[str, Any] = caller.get(f"{TRIALS}{trial['id']}/").json()
    return found


def affected(caller: Caller, trial: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the first page of the runs that a trial has found."""
    data: list[dict[str, Any]] = caller.get(f"{TRIALS}{trial['id']}/runs/").json()[
        "data"
    ]
    return data


def tried(caller: Caller, *rules: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return what a trial that was done has found, with `runs`."""
    trial = started(caller, *rules, **values)
    for _ in policy_trial_take() or ():  # or a process of the site has taken it
        pass
    assert eventually(lambda: read(caller, trial)["finished_at"] is not None)
    found = read(caller, trial)
    assert found["state"] == "completed", found["error"]
    return {**found, "runs": affected(caller, found)}


def refused(caller: Caller, status: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return the error of a start that is refused."""
    return fault(caller.post(TRIALS, body), status)
