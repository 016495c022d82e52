"""Nothing happens that is not on record before: what a failing ledger prevents."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from django.core.management import call_command
from django.db import connection

from apps.audit.errors import LedgerUnavailable
from apps.audit.selectors import entry_list
from apps.audit.writer import LedgerWriter
from apps.runs.models import Run, RunState
from tests.audit.examples import execute
from tests.patience import PATIENCE_S
from tests.runs.asking import planned

REFUSED = "step.started"


REFUSALS = {
    "sqlite": (
        "CREATE TRIGGER refusal BEFORE INSERT ON audit_entry WHEN NEW.action = '{}' "
        "BEGIN SELECT RAISE(ABORT, 'no such entry today'); END",
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no such entry today'; END $$",
        "CREATE TRIGGER refusal BEFORE INSERT ON audit_entry FOR EACH ROW "
        "WHEN (NEW.action = '{}') EXECUTE FUNCTION refuse()",
    ),
}


def refuse(action: str) -> None:
    """Let the database refuse every entry of this action, as a full disk would."""
    for statement in REFUSALS[connection.vendor]:
        execute(statement.format(action))


def refuse_nothing() -> None:
    on = " ON audit_entry" if connection.vendor == "postgresql" else ""
    execute(f"DROP TRIGGER IF EXISTS refusal{on}")


@pytest.fixture
def refusal(stage, recruit):
    """A ledger that takes no start of a step; gives the number of a counting worker."""
    refuse(REFUSED)
    yield recruit("instant", "delay-3600000")
    refuse_nothing()


def ask(stage, content: str, **fields: Any) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": content}], **fields}
    return httpx.post(
        f"{stage.site.api_url}/chat/completions",
        json={"model": "conductor-ultra", **body},
        headers={"Authorization": f"Bearer {stage.site.key}"},
        timeout=PATIENCE_S,
    )


def test_no_call_leaves_when_its_start_can_not_be_recorded(refusal, stage, models):
    ask(stage, planned(refusal, "[[], []]"))
    assert models.stats()["total"] == 0


@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        ("conductor-ultra", 502, "internal_error"),  # it began, and is ended as failed
        ("worker/instant", 503, "overloaded"),  # not even its beginning is on record
    ],
)
def test_the_caller_is_told(refusal, stage, model, status, code):
    answer = ask(stage, planned(refusal), model=model)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "no such entry" not in answer.text and "Traceback" not in answer.text


def test_a_stream_ends_with_an_error_and_without_done(refusal, stage):
    said = ask(stage, planned(refusal), stream=True).text
    assert '"error"' in said and "[DONE]" not in said


def test_the_page_gets_an_answer_too(refusal, stage):
    refuse_nothing()
    refuse("run.created")
    answer = stage.browser.post(
        "/playground/runs/",
        {"prompt": planned(refusal), "tier": "ultra"},
        headers={"accept": "application/json"},
    )
    assert answer.status_code == 503


def test_row_and_ledger_agree_afterwards(refusal, stage):
    answer = ask(stage, planned(refusal))
    run = Run.objects.for_team(stage.site.cast.team.id).get()
    actions = [e.action for e in entry_list(run.team_id, subject_id=run.id)]
    assert str(run.id) == answer.headers["x-conductor-run-id"]
    assert "step.started" not in actions
    assert (run.state, actions[-1]) == (RunState.FAILED, "run.failed")
    assert run.error_code == "internal_error"
    call_command("audit_verify")


def test_other_runs_go_on(refusal, stage):
    refuse_nothing()
    assert ask(stage, planned(refusal[:1])).status_code == 200


def test_an_answer_that_is_not_on_record_is_not_given(stage, recruit, monkeypatch):
    recruit("instant")
    post = LedgerWriter.post

    def away(self, batch):
        if any(draft.action == "run.completed" for draft in batch.drafts):
            raise LedgerUnavailable("the ledger's database is away", retry_after_s=5)
        return post(self, batch)

    monkeypatch.setattr(LedgerWriter, "post", away)
    answer = ask(stage, "anything", model="worker/instant")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "interrupted")
