"""A new process takes up what the former one left, and survives what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import orjson
import pytest
from django.core.management import call_command
from django.db import connections
from django.test import Client

from apps.audit.models import Content, Entry
from apps.audit.services import content_erase
from apps.engine import events as ev
from apps.engine.ports import CallParams, Message
from apps.pools.models import Worker
from apps.pools.selectors import snapshots_forget
from apps.runs.models import Run, RunState
from apps.runs.selectors import run_events
from apps.runs.services import run_start_detached
from tests.conftest import Cast, Site, make_pool
from tests.factories import ACTOR, PoolFactory
from tests.runs.asking import Stage, frames, planned, session_of, until, watching
from tests.runs.conftest import Models
from tests.runs.starting import on_loop, order
from tests.serving import serving

SLOW, LATER = "delay-3600000", "instant"


class House:
    """A site that can be closed and opened again; runs live on in its database."""

    def __init__(self, cast: Cast, simulator_url: str, models: Models) -> None:
        self.cast = cast
        self._simulator_url = simulator_url
        self._models = models
        self._processes = ExitStack()

    def open(self) -> Stage:
        from conductor_site.asgi import application

        url = self._processes.enter_context(serving(application))
        browser = Client()
        browser.force_login(self.cast.bob)
        site = Site(url, self.cast, self._simulator_url)
        return Stage(site, self._models.url, browser)

    def close(self) -> None:
        self._processes.close()
        snapshots_forget(self.cast.team.id)  # a new process remembers nothing

    def watch(self, stage: Stage, run: Run, *actions: str) -> None:
        """Wait until these have happened, in this order."""
        session = session_of(self.cast.bob)
        with watching(stage.site.url, str(run.id), session=session) as socket:
            for action in actions:
                until(socket, action)


@pytest.fixture
def house(cast: Cast, simulator_url: str, models: Models) -> Iterator[House]:
    make_pool(cast.team, simulator_url)
    pool = cast.team.pools.get()
    assert pool.conductor is not None
    pool.conductor.model = "scripted-conductor"
    pool.conductor.save()
    stage = House(cast, simulator_url, models)
    for name in (LATER, SLOW):
        worker = Worker.objects.create(
            team=cast.team, name=name, base_url=models.url, model=name
        )
        pool.places.create(team=cast.team, worker=worker, position=pool.places.count())
    yield stage
    stage.close()
    connections.close_all()


@pytest.fixture
def left(house: House) -> Callable[..., Run]:
    """Leave a run behind in the middle of its second step, then close the process."""

    def inner(question: str = "", **fields: str) -> Run:
        stage = house.open()
        run = stage.start(question or planned([2, 3, 2]), **fields)
        first = () if "worker" in fields else ("step.completed",)
        house.watch(stage, run, *first, "step.started")
        house.close()
        run.refresh_from_db()
        assert run.state == RunState.RUNNING
        return run

    return inner


def ended(house: House, run: Run) -> Run:
    """Open the next process and return the run as it has ended there."""
    stage = house.open()
    session = session_of(house.cast.bob)
    with watching(stage.site.url, str(run.id), session=session) as socket:
        assert list(frames(socket))[-1] == {"type": "end"}
    run.refresh_from_db()
    return run


def speed_up() -> None:
    Worker.objects.across_teams().filter(name=SLOW).update(model=LATER)


def test_run_goes_on_where_it_was(left, house, models):
    run = left()
    speed_up()
    before = models.requests(LATER)
    assert before == 1
    assert ended(house, run).state == RunState.COMPLETED
    # The second step again, the third for the first time, the first never again.
    assert models.requests(LATER) == before + 2
    call_command("audit_verify")


def test_call_that_a_stop_cut_off_is_on_record_with_its_cost(left, house):
    run = left()
    speed_up()
    ended(house, run)
    events = [recorded.event for recorded in run_events(run)]
    (resumed,) = (e for e in events if isinstance(e, ev.RunResumed))
    (closed,) = (e for e in events if isinstance(e, ev.StepAttemptFailed))
    assert resumed.unknown_calls == 0
    assert (closed.fault, closed.usage.is_estimated) == ("cancelled", True)


def test_finished_run_is_not_touched(house):
    stage = house.open()
    run = stage.start(planned([2]))
    house.watch(stage, run, "end")
    house.close()
    before = Entry.objects.for_team(run.team_id).count()
    ended(house, run)
    assert Entry.objects.for_team(run.team_id).count() == before


# --- runs that cannot go on -----------------------------------------------------------


def entries(run: Run, action: str):
    return Entry.objects.for_team(run.team_id).filter(subject_id=run.id, action=action)


def spoil_contents(run: Run) -> None:
    Content.objects.for_team(run.team_id).update(sealed=b"\x03dev nonsense")


def lose_key(run: Run) -> None:
    Content.objects.for_team(run.team_id).update(sealed=b"\x04lost" + bytes(40))


def spoil_entry(run: Run) -> None:
    entries(run, "step.started").update(canonical=b"{not json")


def spoil_shape(run: Run) -> None:
    entries(run, "plan.accepted").update(canonical=b'{"data": []}')


def lose_start(run: Run) -> None:
    entries(run, "step.started").delete()


def lose_plan(run: Run) -> None:
    entries(run, "plan.accepted").delete()


def lose_beginning(run: Run) -> None:
    entries(run, "run.created").delete()


def lose_everything(run: Run) -> None:
    Entry.objects.for_team(run.team_id).filter(subject_id=run.id).delete()


def erase_beginning(run: Run) -> None:
    texts = Content.objects.for_team(run.team_id).values_list("seq", "name")
    content_erase(
        team_id=run.team_id, places=texts.order_by("seq")[:1], actor=ACTOR, reason="old"
    )


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (spoil_contents, "secret_unreadable"),
        (lose_key, "secret_unreadable"),
        (spoil_entry, "history_unreadable"),
        (spoil_shape, "history_unreadable"),
        (lose_start, "history_unreadable"),
        (lose_plan, "history_unreadable"),
        (lose_beginning, "history_unreadable"),
        (lose_everything, "history_unreadable"),
        (erase_beginning, "history_unreadable"),
    ],
)
def test_unreadable_history_ends_that_run_alone(left, house, spoil, code):
    run = left()
    spoil(run)
    stage = house.open()
    other = stage.start(planned([2]))
    house.watch(stage, other, "end")
    run.refresh_from_db()
    assert (run.state, run.error_code) == (RunState.FAILED, code)


def test_run_of_a_pool_that_is_gone_fails_by_name(left, house):
    team = house.cast.team
    pool = team.pools.get()
    spare = PoolFactory.create(
        team=team, name="spare", is_default=False, workers=("x",)
    )
    spare.places.all().delete()
    for place in pool.places.all():
        spare.places.create(team=team, worker=place.worker, position=place.position)
    spare.conductor = pool.conductor
    spare.save()
    run = left(pool="spare", tier="ultra")
    spare.delete()
    assert ended(house, run).error_code == "model_not_found"


def test_direct_run_of_a_worker_that_is_gone_fails_by_name(left, house):
    run = left("Wait.", worker=f"worker/{SLOW}")
    house.cast.team.pools.get().places.filter(worker__name=SLOW).delete()
    assert ended(house, run).error_code == "model_not_found"


def test_step_of_a_worker_that_is_gone_goes_to_the_fallback(left, house):
    run = left()
    house.cast.team.pools.get().places.filter(worker__name=SLOW).delete()
    assert ended(house, run).state == RunState.COMPLETED
    assert run.steps.get(index=1).worker == "sim-delta"


def test_given_up_run_keeps_what_it_used_and_verifies(left, house):
    run = left()
    used = (run.prompt_tokens, run.completion_tokens, run.cost_micros)
    Worker.objects.across_teams().update(is_enabled=False)
    ended(house, run)
    end = run_events(run)[-1].event
    assert isinstance(end, ev.RunFailed)
    assert (run.prompt_tokens, run.completion_tokens, run.cost_micros) == used
    assert end.cost_micros == run.cost_micros and run.has_unknown_cost
    call_command("audit_verify")


# --- conversations --------------------------------------------------------------------


def test_conversation_goes_on_with_its_tools(house: House):
    stage = house.open()
    call = """[[call look_up {"term": "MVCC"}]]"""
    question = planned([2, 3, 0]).replace("[[say part 2]]", call)
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {}}}
    asked: tuple[Message, ...] = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": question},
    )
    wanted = order(house.cast, asked, params=CallParams(tools=(tool,)))

    run = Run.objects.for_team(house.cast.team.id).get(
        id=on_loop(run_start_detached(wanted))
    )
    house.watch(stage, run, "step.completed", "step.started")
    house.close()
    speed_up()
    ended(house, run)
    end = run_events(run)[-1].event
    assert isinstance(end, ev.RunCompleted)
    called = {call["function"]["name"] for call in orjson.loads(end.tool_calls)}
    assert called == {"look_up"}
