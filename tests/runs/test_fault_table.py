"""Every fault of a model, at every place of a run, in every protocol: docs/faults.md.

All are asked at once, because most of the time is waiting. What must hold for every
cell is checked here; what each cell says is compared with the published table.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.errors import TRANSIENT_FAULTS, CallFault
from apps.pools.models import Pool, Worker
from apps.runs.models import Run
from apps.runs.selectors import run_events
from apps.simulator.faults import faults
from tests.conftest import Site, add_worker
from tests.factories import ConductorFactory, PriceFactory
from tests.patience import WORK_PATIENCE_S
from tests.runs.asking import Stage, planned
from tests.runs.clients import Question, Said, ask_all, request
from tests.runs.test_faults import wrong_with

pytestmark = pytest.mark.slow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "faults.md"
WRITE = "CONDUCTOR_WRITE_DOCS"
FAULTS = sorted(name for name in faults() if name.startswith("fault-"))
BASES = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
HEALTHY = "flaky-0"
"""Never fails, and says what it is told to."""
HANGING = ("silent", "stall", "idle", "ping")
"""Faults that show only when a limit of time is over; others wait `WORK_PATIENCE_S`."""
HURRY = {"first_byte_timeout_s": 1, "idle_timeout_s": 1, "total_timeout_s": 4}
LIMITS = ("CONNECT", "FIRST_BYTE", "IDLE", "TOTAL")
PLACES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "first step": ("FHH", {}),
    "middle step": ("HFH", {}),
    "last step": ("HHF", {}),
    "last step, live": ("HHF", {"stream": True}),
    "last step, verified": (
        "HHF",
        {"stream": True, "conductor": {"delivery": "verified"}},
    ),
}
COLUMNS = ("asked directly", "conductor", *PLACES)
MAX_ATTEMPTS = 3
TABLE = re.compile(r"<!-- table -->.*<!-- end -->", re.DOTALL)

ENDS = {
    "cut short by its own limit, and says so": '"finish_reason":"length"',
    "refused, and says so": '"finish_reason":"content_filter"',
}

Cell = tuple[str, str, str]
"""Protocol, fault, column."""


@pytest.fixture
def troubled(stage: Stage, settings: Any) -> Site:
    """The site with every faulty model in every protocol, and one that is well."""
    team = stage.site.cast.team
    for limit in LIMITS:
        setattr(settings, f"WORKER_{limit}_TIMEOUT_S", WORK_PATIENCE_S)
    add_worker(team, stage.models_url, HEALTHY)
    healthy = Worker.objects.for_team(team.id).get(name=HEALTHY)
    team.pools.filter(is_default=True).update(fallback=healthy)
    for protocol in BASES:
        for fault in FAULTS:
            _recruit(stage, protocol, fault)
    for fault in FAULTS:
        _pool_planned_by(stage, fault, healthy)
    for fault in HANGING:
        Worker.objects.for_team(team.id).filter(model=f"fault-{fault}").update(**HURRY)
        team.conductors.filter(model=f"fault-{fault}").update(**HURRY)
    return stage.site


def _recruit(stage: Stage, protocol: str, fault: str) -> None:
    team = stage.site.cast.team
    root = stage.models_url.removesuffix("/v1")
    name = f"{protocol}.{fault}"
    add_worker(team, root + BASES[protocol], name)
    Worker.objects.for_team(team.id).filter(name=name).update(
        model=fault, protocol=protocol
    )


def _pool_planned_by(stage: Stage, fault: str, worker: Worker) -> None:
    team = stage.site.cast.team
    conductor = ConductorFactory.create(
        team=team,
        name=f"by-{fault}",
        base_url=stage.models_url,
        model=fault,
    )
    PriceFactory.create(team=team, worker=None, conductor=conductor)
    pool = Pool.objects.create(
        team=team, name=f"by-{fault}", conductor=conductor, fallback=worker
    )
    pool.places.create(team=team, worker=worker, position=0)
    pool.tiers.create(team=team, name="ultra", max_steps=5)


def _questions(site: Site) -> dict[Cell, Question]:
    """Return what is asked for each cell; the right answer has `part 2` in it."""
    numbers = {
        name: number
        for number, name in enumerate(
            site.cast.team.pools.get(is_default=True).places.values_list(
                "worker__name", flat=True
            )
        )
    }
    asked: dict[Cell, Question] = {}
    for protocol in BASES:
        for fault in FAULTS:
            worker = f"{protocol}.{fault}"
            cell = (protocol, fault)
            asked[*cell, "asked directly"] = _ask(cell, f"worker/{worker}", "Say it.")
            for column, (places, fields) in PLACES.items():
                who = [numbers[worker if p == "F" else HEALTHY] for p in places]
                question = f"{planned(who)} {protocol} {fault} {column}"
                asked[*cell, column] = _ask(cell, "conductor-ultra", question, fields)
    for fault in FAULTS:
        cell = ("openai", fault)
        asked[*cell, "conductor"] = _ask(cell, f"by-{fault}/ultra", "Say it.")
    return asked


def _ask(
    cell: tuple[str, str], model: str, question: str, fields: Any = None
) -> Question:
    text = question if "part 2" in question else f"{question} [[say part 2]]"
    is_streamed = bool(fields and fields.get("stream"))
    body = request(model, text, is_streamed=is_streamed) | (fields or {})
    return ("/".join(cell), cell[1], body)


def _outcome(cell: Cell, said: Said) -> str:
    """Return what the table says of a cell."""
    if said.error is not None:
        return f"`{said.error['code']}`"
    if "part 2" not in said.answer:
        return next((why for why, word in ENDS.items() if word in said.text), "WRONG")
    asked = f"{cell[0]}.{cell[1]}"
    answered = _steps(said)[-1].worker
    if cell[2] in {"asked directly", "conductor"} or "last" not in cell[2]:
        return "answered"
    return "answered" if answered == asked else "answered by another"


def _events(said: Said) -> list[ev.Event]:
    run = Run.objects.across_teams().get(id=said.run_id)
    return [recorded.event for recorded in run_events(run)]


def _steps(said: Said) -> list[ev.StepCompleted]:
    return [e for e in _events(said) if isinstance(e, ev.StepCompleted)]


def _too_often(events: Iterable[ev.Event]) -> str:
    """Return what breaks the rules for asking again."""
    calls: Counter[tuple[int, int]] = Counter()
    refused: set[tuple[int, int, str]] = set()
    for event in events:
        if isinstance(event, ev.StepStarted):
            calls[event.round, event.step] += 1
            if (event.round, event.step, event.worker) in refused:
                return f"{event.worker} was asked again after a fault that stays"
        elif (
            isinstance(event, ev.StepAttemptFailed)
            and CallFault(event.fault) not in TRANSIENT_FAULTS
        ):
            refused.add((event.round, event.step, event.worker))
    most = max(calls.values(), default=0)
    return f"{most} attempts of one step" if most > MAX_ATTEMPTS else ""


def _table(outcomes: Mapping[Cell, str]) -> str:
    parts = []
    for protocol in BASES:
        columns = [c for c in COLUMNS if (protocol, FAULTS[0], c) in outcomes]
        rows = [f"### {protocol}", "", f"| fault | {' | '.join(columns)} |"]
        rows.append("|---" * (len(columns) + 1) + "|")
        for fault in FAULTS:
            cells = [outcomes[protocol, fault, column] for column in columns]
            rows.append(f"| `{fault.removeprefix('fault-')}` | {' | '.join(cells)} |")
        parts.append("\n".join(rows))
    return "<!-- table -->\n\n" + "\n\n".join(parts) + "\n\n<!-- end -->"


def test_G7_every_fault_at_every_place_has_the_outcome_that_is_published(
    troubled: Site,
) -> None:
    questions = _questions(troubled)
    answers = ask_all(troubled, list(questions.values()), WORK_PATIENCE_S)
    said = dict(zip(questions, answers, strict=True))
    broken = {
        cell: wrong
        for cell, answer in said.items()
        if (wrong := wrong_with(answer) or _too_often(_events(answer)))
    }
    assert broken == {}
    outcomes = {cell: _outcome(cell, answer) for cell, answer in said.items()}
    unfit = {
        cell: (answer.text, _events(answer))
        for cell, answer in said.items()
        if outcomes[cell] == "WRONG"
    }
    assert unfit == {}
    if os.environ.get(WRITE):
        PAGE.write_text(TABLE.sub(lambda _: _table(outcomes), PAGE.read_text()))
    published = TABLE.search(PAGE.read_text())
    assert published, "the page has no table"
    differing = set(_table(outcomes).splitlines()) ^ set(published[0].splitlines())
    assert not differing, f"run it once with {WRITE}=1"
    # One healthy worker is left at every place but where one alone is asked.
    bad = {c: o for c, o in outcomes.items() if o[0] == "`" and c[2] in PLACES}
    assert bad == {}
