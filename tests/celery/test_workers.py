"""Background runs in real worker processes, asked for and followed at a web process."""

from __future__ import annotations

import signal

from tests.celery.conftest import SLOW, Crew, stop, wait_for
from tests.patience import PATIENCE_S
from tests.runs.asking import planned

ENDED = "response.completed"


def test_a_worker_executes_what_a_web_process_takes(crew: Crew) -> None:
    with crew.worker():
        response_id, run_id = crew.ask(planned([SLOW]))
        wait_for(lambda: crew.owner(run_id) == "worker")
        assert crew.ending(response_id)["type"] == ENDED
        assert crew.history(run_id).count("step.completed") == 1
        told = crew.client.get(f"/v1/responses/{response_id}").json()
        assert (told["status"], told["background"]) == ("completed", True)


def test_a_run_of_a_worker_is_stopped_at_a_web_process(crew: Crew) -> None:
    with crew.worker():
        response_id, run_id = crew.ask(planned([SLOW] * 5))
        wait_for(lambda: "step.started" in crew.history(run_id))
        answer = crew.client.post(f"/v1/responses/{response_id}/cancel")
        assert answer.json()["status"] == "cancelled"
        assert crew.history(run_id)[-1] == "run.cancelled"


def test_rest_runs_in_the_background_are_left_to_workers(crew: Crew) -> None:
    asked = {"model": "conductor-ultra", "prompt": planned([0]), "background": True}
    run_id = crew.client.post("/api/v1/runs/", json=asked).json()["id"]
    assert crew.owner(run_id) is None
    with crew.worker():
        wait_for(lambda: "run.completed" in crew.history(run_id))


def test_without_a_broker_runs_are_taken_and_executed(crew: Crew) -> None:
    with crew.worker():
        crew.broker.kill()
        try:
            response_id, _ = crew.ask(planned([0]))
            assert crew.ending(response_id)["type"] == ENDED
        finally:
            crew.broker.start()


def test_a_stopped_worker_ends_what_it_can_and_gives_the_rest_back(crew: Crew) -> None:
    with crew.worker() as first:
        _, short_run = crew.ask(planned([SLOW]))
        long, long_run = crew.ask(planned([SLOW] * 5))
        wait_for(lambda: "step.started" in crew.history(short_run))
        wait_for(lambda: "step.started" in crew.history(long_run))
        assert stop(first) == 0
        assert crew.history(short_run)[-1] == "run.completed"
        assert crew.leases(first.pid) == []
    with crew.worker():
        assert crew.ending(long)["type"] == ENDED
    assert "run.resumed" in crew.history(long_run)
    deaths = crew.database.execute("SELECT max(deaths) FROM runs_run").fetchone()
    assert deaths == (0,)


def test_a_second_signal_does_not_wait_for_runs(crew: Crew) -> None:
    with crew.worker(drain_s=PATIENCE_S) as worker:
        response_id, run_id = crew.ask(planned([SLOW] * 5))
        wait_for(lambda: "step.started" in crew.history(run_id))
        worker.send_signal(signal.SIGINT)  # two of a kind may arrive as one
        assert stop(worker) == 0
        assert "run.completed" not in crew.history(run_id)
        crew.client.post(f"/v1/responses/{response_id}/cancel")
