"""One run's page, its parts, its entries."""

import io
import json
import re
from dataclasses import replace
from html import escape

import pytest
from django.db import connection
from django.urls import reverse

from apps.audit.bundles.verifier import verify_bundle
from apps.audit.exports.jobs import export_take
from apps.audit.models import Entry, LedgerExport
from apps.audit.selectors import entry_list
from apps.core.ids import new_id
from apps.engine.events import (
    PlanAccepted,
    RunCancelled,
    RunCreated,
    RunResumed,
    StepFailed,
    StepStarted,
)
from apps.engine.usage import Usage
from apps.runs.models import Run
from apps.runs.selectors import run_entries
from tests.audit.examples import execute
from tests.audit.tampering import checkpoint, cut_tail
from tests.playground import stories
from tests.playground.conftest import record_run
from tests.runs.recording import record, told

PAGES = ["run_detail", "run_body", "run_export"]


def address(name, run, *args):
    return reverse(f"playground:{name}", args=[run.id, *args])


@pytest.mark.parametrize("name", PAGES)
def test_member_sees_the_run(bob, run, name):
    assert bob.get(address(name, run)).status_code == 200


@pytest.mark.parametrize("name", PAGES)
def test_viewer_sees_the_run(vera, run, name):
    assert vera.get(address(name, run)).status_code == 200


@pytest.mark.parametrize("name", PAGES)
def test_outsider_gets_404(mallory, run, name):
    assert mallory.get(address(name, run)).status_code == 404


@pytest.mark.parametrize("name", PAGES)
def test_anonymous_signs_in_first(client, run, name):
    response = client.get(address(name, run))
    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("name", ["run_verify", "run_cancel", "run_rerun"])
def test_outsider_cannot_act_on_the_run(mallory, run, name):
    assert mallory.post(address(name, run)).status_code == 404


def test_unknown_run_is_404(bob, run):
    url = reverse("playground:run_detail", args=[new_id()])
    assert bob.get(url).status_code == 404


def test_whoever_finds_no_run_is_led_to_the_list(bob):
    page = bob.get(reverse("playground:run_detail", args=[new_id()])).content.decode()
    assert "it may belong to another of your teams.</p>" in page
    assert f'class="button" href="{reverse("playground:run_list")}"' in page


def test_page_shows_every_entry(bob, run):
    page = bob.get(address("run_detail", run)).content.decode()
    assert page.count('class="entry"') == 11
    assert "run.completed" in page


def test_body_of_the_playground_leaves_the_entries_out(bob, run):
    body = bob.get(address("run_body", run))
    assert b'id="run-entries"' not in body.content
    assert body["Cache-Control"] == "no-store"


def test_pages_hold_no_inline_style_or_script(bob, run):
    page = bob.get(address("run_detail", run)).content.decode()
    assert " style=" not in page
    assert "<script>" not in page
    assert "onclick" not in page


def test_step_context_shows_exactly_what_was_sent(bob, run):
    page = bob.get(address("step_context", run, 0, 2)).content.decode()
    assert "Your subtask: step 3" in page


def test_what_was_sent_can_be_copied_as_it_is_on_record(bob, run):
    page = bob.get(address("step_context", run, 0, 2)).content.decode()
    recorded = escape(stories.messages(f"{stories.PROMPT}\n\nYour subtask: step 3"))
    assert f'<textarea id="sent-1" hidden readonly>{recorded}</textarea>' in page


def test_response_of_a_step_can_be_copied_as_it_came(bob, run):
    page = bob.get(address("run_detail", run)).content.decode()
    assert 'data-copy="#step-0-2-source"' in page
    assert f'id="step-0-2-source" hidden readonly>{escape(stories.ANSWER)}<' in page


def test_run_that_ended_without_a_call_says_so(bob, team):
    end = RunCancelled("stopped by alice", Usage(), 0, True, 20, 20)
    ended = stories.Recording().at(0, stories.created()).at(20, end).entries
    run = record_run(team, ended)
    page = bob.get(address("run_detail", run)).content.decode()
    assert "No call was made." in page
    assert "<dt>Steps</dt><dd>–</dd></div>" in page


def test_plan_context_shows_the_raw_output(bob, run):
    page = bob.get(address("plan_context", run, 0)).content.decode()
    assert "answer, as it came" in page


def test_script_gets_only_the_part(bob, run):
    url = address("step_context", run, 0, 0)
    part = bob.get(url, headers={"X-Partial": "true"}).content
    assert b"<html" not in part


@pytest.mark.parametrize("args", [(0, 9), (4, 0)])
def test_unknown_step_is_404(bob, run, args):
    assert bob.get(address("step_context", run, *args)).status_code == 404


def test_export_holds_one_entry_a_line(bob, run):
    lines = bob.get(address("run_export", run)).content.decode().splitlines()
    assert json.loads(lines[0])["action"] == "run.created"
    assert len(lines) == 11


def test_owner_exports_with_proof_and_a_member_may_not(alice, bob, run):
    found = alice.post(address("run_bundle", run))
    assert found["Content-Disposition"] == f'attachment; filename="run-{run.id}.zip"'
    assert verify_bundle(io.BytesIO(found.content), run=run.id).entries == 11
    assert bob.post(address("run_bundle", run)).status_code == 403
    assert alice.get(address("run_bundle", run)).status_code == 405
    assert "Export with proof" in alice.get(address("run_detail", run)).content.decode()
    assert (
        "Export with proof" not in bob.get(address("run_detail", run)).content.decode()
    )


def test_verification_of_an_untouched_run(bob, team):
    run = record(team, told(stories.finished))
    page = bob.post(address("run_verify", run)).content.decode()
    assert "11 entries verified, chain intact" in page


def test_verification_names_a_row_that_was_changed(bob, team):
    """T12: nothing but the row was touched, so the chain holds."""
    run = record(team, told(stories.finished))
    Run.objects.for_team(team.id).filter(id=run.id).update(cost_micros=1)
    page = bob.post(address("run_verify", run)).content.decode()
    assert "a row says something else than its entries" in page
    assert f"cost_micros: stored 1, derived {run.cost_micros}" in page


def test_verification_names_the_altered_entry(bob, run):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE audit_entry SET hash = %s WHERE seq = 3", ["sha256:00"])
    page = bob.post(address("run_verify", run)).content.decode()
    assert "Entry #3 is not what was recorded" in page


def test_faults_that_verification_finds_are_recorded(bob, run):
    execute("UPDATE audit_entry SET action = 'x' WHERE seq = 3")
    bob.post(address("run_verify", run))
    newest = entry_list(run.team_id)[-1]
    assert (newest.action, newest.outcome) == ("audit.verified", "failure")
    assert newest.actor.type == "user"
    assert newest.data["run_id"] == str(run.id)
    (fault,) = newest.data["faults"]
    assert (fault["seq"], fault["kind"]) == (3, "column_changed")


def test_verification_without_faults_is_not_recorded(bob, run):
    before = len(entry_list(run.team_id))
    bob.post(address("run_verify", run))
    assert len(entry_list(run.team_id)) == before


def test_faults_of_a_chain_that_takes_no_entry_are_shown_and_logged(bob, run, caplog):
    execute("DELETE FROM audit_chainhead")
    page = bob.post(address("run_verify", run)).content.decode()
    assert "is not what was recorded: head missing" in page
    assert f"the faults of run {run.id} cannot be recorded" in caplog.text


def test_an_export_that_is_refused_records_the_faults(alice, run):
    execute("UPDATE audit_entry SET canonical = %s WHERE seq = 3", b"x")
    assert alice.post(address("run_bundle", run)).status_code == 409
    newest = Entry.objects.for_team(run.team_id).latest("seq")
    assert newest.action == "audit.verified"
    data = json.loads(bytes(newest.canonical))["data"]
    assert data["run_id"] == str(run.id)
    assert [fault["kind"] for fault in data["faults"]] == ["hash_mismatch"]


def test_a_long_record_is_exported_in_the_background(alice, run, monkeypatch):
    monkeypatch.setattr("apps.audit.bundles.export.MAX_TEXT_BYTES", 100)
    page = alice.post(address("run_bundle", run), follow=True)
    assert page.redirect_chain == [(reverse("console:ledger_exports"), 302)]
    assert "This record is long" in page.content.decode()
    (export,) = LedgerExport.objects.for_team(run.team_id)
    list(export_take() or ())
    file = alice.post(reverse("console:ledger_export_file", args=[export.id]))
    content = io.BytesIO(b"".join(file.streaming_content))
    assert verify_bundle(content, team=run.team_id).entries == 11

    answer = alice.get(reverse("rest:run_export", args=[run.id]))
    assert answer.status_code == 409
    said = answer.json()["error"]["message"]
    order = json.loads(said[said.index("{") :])
    made = alice.post("/api/v1/ledger/exports/", order, "application/json")
    assert (made.status_code, made.json()["filter"]) == (
        202,
        {"subject_id": str(run.id)},
    )


@pytest.mark.parametrize("said", [b"{}", b'{"bodies":{}}', b'{"bodies":{"prompt":1}}'])
def test_an_entry_that_is_none_is_named_wherever_it_is_read(alice, run, said):
    execute("UPDATE audit_entry SET canonical = %s WHERE seq = 3", said)
    named = f"ntry 3 of team {run.team_id} is not readable"
    bundle = alice.post(address("run_bundle", run))
    assert (bundle.status_code, named in bundle.content.decode()) == (409, True)
    for name in ("run_detail", "run_export"):
        page = alice.get(address(name, run))
        assert (page.status_code, named in page.content.decode()) == (500, True)
    answers = {"run_export": 409, "run_entries": 500, "run": 500}
    for name, status in answers.items():
        answer = alice.get(reverse(f"rest:{name}", args=[run.id]))
        assert answer.status_code == status
        assert named in answer.json()["error"]["message"]


def test_g12_verification_names_a_tail_that_was_cut(bob, run):
    checkpoint()
    cut_tail(run.team_id, 9)
    page = bob.post(address("run_verify", run)).content.decode()
    assert "Entry #9 is not what was recorded: tail missing" in page


def test_viewer_cannot_stop_a_run(vera, run):
    assert vera.post(address("run_cancel", run)).status_code == 403


@pytest.fixture
def with_tools(team):
    return record_run(team, stories.called_tools())


def test_page_shows_calls_of_tools_as_text(bob, with_tools):
    page = bob.get(address("run_detail", with_tools)).content.decode()
    assert "calls 1 tool of the caller" in page
    assert "&lt;b&gt;MVCC&lt;/b&gt;" in page and "<b>MVCC" not in page
    assert "has been erased" not in page
    assert "Tools of the caller: <code>look_up</code>" in page


@pytest.mark.parametrize(
    ("name", "args"), [("run_detail", ()), ("step_context", (0, 0))]
)
def test_no_page_loads_an_image_of_a_conversation(bob, with_tools, name, args):
    page = bob.get(address(name, with_tools, *args)).content.decode()
    assert "image/png, 2.9" in page
    assert f"<code>{stories.FOREIGN}</code>" in page
    for attribute in ("src", "href", "srcset", "data", "poster"):
        assert f'{attribute}="{stories.FOREIGN}' not in page
        assert f'{attribute}="data:image/png' not in page


def test_context_shows_every_message_by_its_parts(bob, with_tools):
    page = bob.get(address("step_context", with_tools, 0, 0)).content.decode()
    assert "Be brief." in page and "Found it." in page
    assert "tool · call_1" in page
    assert "&#x27;type&#x27;" not in page  # no part is shown as Python writes it


@pytest.mark.parametrize(
    ("story", "words"),
    [
        ("raced", "closed, because another worker was quicker"),
        ("raced", "took over from slow"),
        ("put_right", "asked to put its answer into the right form"),
        ("went_on", "went on from what had been sent"),
    ],
)
def test_page_says_what_became_of_every_attempt(bob, team, story, words):
    run = record_run(team, stories.ALL[story]())
    assert words in bob.get(address("run_detail", run)).content.decode()


def test_page_names_the_form_that_was_asked_for_and_asks_for_it_again(bob, team):
    first, *rest = stories.put_right()
    assert isinstance(first.event, RunCreated)
    shape = {"type": "json_schema", "json_schema": {"name": "<total>", "schema": {}}}
    asked = replace(first.event, params=json.dumps({"response_format": shape}))
    run = record_run(team, [replace(first, event=asked), *rest])
    page = bob.get(address("run_detail", run)).content.decode()
    assert "JSON by the schema “&lt;total&gt;”" in page
    assert f'action="{address("run_rerun", run)}"' in page


def test_viewer_cannot_run_it_again(vera, with_tools):
    assert vera.post(address("run_rerun", with_tools)).status_code == 403
    page = vera.get(address("run_detail", with_tools)).content.decode()
    assert address("run_rerun", with_tools) not in page


def test_conversation_is_run_again_whole_and_a_prompt_from_the_playground(
    bob, with_tools, run
):
    conversation = bob.get(address("run_detail", with_tools)).content.decode()
    assert f'action="{address("run_rerun", with_tools)}"' in conversation
    plain = bob.get(address("run_detail", run)).content.decode()
    assert f"?from={run.id}" in plain and "/rerun/" not in plain


def test_graph_has_a_colour_for_stopped_steps(bob, team):
    run = record_run(team, stories.cancelled())
    page = bob.get(address("run_detail", run)).content.decode()
    assert '<li data-state="cancelled">cancelled</li>' in page


@pytest.fixture
def unplanned(team):
    """A run whose plans were all refused, answered by the fallback worker."""
    recording = stories.Recording()
    recording.entries = stories.rejected()[:4]
    plan = stories.accepted((), workers=("gpt-5",), planner="fallback")
    recording.at(1510, plan).at(1515, stories.started(0, "gpt-5"))
    recording.at(1900, stories.completed(0, "gpt-5", "Rome."))
    return record_run(team, recording.at(1910, stories.run_completed("Rome.")).entries)


def test_p14_run_without_a_plan_says_so_and_why_beside_its_answer(bob, unplanned):
    page = bob.get(address("run_detail", unplanned)).content.decode()
    assert page.count("Answered without a plan") == 2
    assert 'data-state="unplanned" title="The conductor gave no usable plan' in page
    assert "The last attempt: Step 1 names worker 9 of 3." in page


def test_planned_run_does_not_say_that_it_has_no_plan(bob, run):
    page = bob.get(address("run_detail", run)).content.decode()
    assert "unplanned" not in page


def test_p11_message_of_a_failed_step_stands_once_in_its_card(bob, team):
    recorded = stories.Recording().at(0, stories.created())
    recorded.at(5, stories.accepted((), workers=("gpt-5",)))
    recorded.at(10, stories.started(0, "gpt-5"))
    failure = stories.attempt_failed(0, "gpt-5")
    recorded.at(900, failure)
    message = failure.message
    recorded.at(901, StepFailed(0, 0, "rate_limited", message))
    run = record_run(team, recorded.entries)
    page = bob.get(address("run_detail", run)).content.decode()
    assert page.count(escape(message)) == 1


def test_r5_entry_opens_with_its_fields_its_hashes_and_its_step(bob, run):
    page = bob.get(address("run_detail", run)).content.decode()
    first, second = run_entries(run)[:2]
    entry = page.split(f'<details id="entry-{second.seq}">')[1].split("</details>")[0]
    assert f'<code id="entry-{second.seq}-hash">{second.hash}</code>' in entry
    assert f'<code id="entry-{second.seq}-previous">{first.hash}</code>' in entry
    assert f'data-copy="#entry-{second.seq}-hash"' in entry
    assert f'data-copy="#entry-{second.seq}-previous"' in entry
    assert '<dt>round</dt><dd dir="auto">0</dd>' in entry
    assert "<dt>messages</dt><dd>Text of" in entry
    assert '<a href="#plan-0">Go to the plan of round 1</a>' in entry


def test_r5_entry_of_a_step_leads_to_its_card(bob, run):
    page = bob.get(address("run_detail", run)).content.decode()
    assert '<a href="#step-0-2">Go to step 3</a>' in page


def test_c5_cost_of_a_call_that_nobody_recorded_is_unknown(bob, team):
    recording = stories.Recording()
    recording.entries = stories.parallel()
    run = record_run(team, recording.at(9000, RunResumed(2)).entries)
    page = bob.get(address("run_detail", run)).content.decode()
    assert "outcome unknown</strong>" in page
    assert "$0.0000" not in page


def test_c5_run_without_an_ended_call_has_no_cost_yet(bob, team):
    run = record_run(team, stories.planning())
    page = bob.get(address("run_detail", run)).content.decode()
    shown = "so far</span></dt><dd><span>–</span>"
    assert f'<dt>Cost<span class="metrics__far"> {shown}' in page
    assert "$0.0000" not in page


def test_p9_body_without_news_holds_only_what_moves_with_the_time(bob, team):
    run = record_run(team, stories.parallel())
    newest = stories_seq(bob, run)
    full = bob.get(f"/runs/{run.id}/body/?view=detail&seq={newest - 1}")
    moves = bob.get(f"/runs/{run.id}/body/?view=detail&seq={newest}")
    for part in (
        "run-summary",
        "run-timeline",
        "run-graph",
        "run-cards",
        "run-entries",
    ):
        is_moving = part in {"run-summary", "run-timeline"}
        assert f'id="{part}"' in full.content.decode()
        assert (f'id="{part}"' in moves.content.decode()) is is_moving
    assert "?view=detail" in moves.content.decode()


@pytest.mark.parametrize("seq", ["", "x", "-1", "٣", "9" * 5_000])
def test_body_is_whole_for_a_place_that_makes_no_sense(bob, run, seq):
    page = bob.get(f"/runs/{run.id}/body/", {"seq": seq}).content.decode()
    assert 'id="run-cards"' in page


def test_p9_calls_in_flight_are_named_for_the_estimate_of_their_tokens(bob, team):
    run = record_run(team, stories.parallel())
    page = bob.get(f"/runs/{run.id}/").content.decode()
    assert 'data-writing="0-0:1 0-1:1"' in page
    assert 'data-writing="0-1:1" hidden' in page
    run = record_run(team, stories.planning())
    assert 'data-writing="0-:1"' in bob.get(f"/runs/{run.id}/").content.decode()


def stories_seq(browser, run) -> int:
    page = browser.get(f"/runs/{run.id}/body/").content.decode()
    found = re.search(r'data-seq="(\d+)"', page)
    assert found
    return int(found[1])


@pytest.mark.parametrize(
    ("planner", "words"),
    [
        ("language_model", "by a language model"),
        ("single_worker", "one worker, without a plan"),
        ("fallback", "fallback plan"),
        ("mixture_of_agents", "by mixture of agents"),
    ],
)
def test_plan_says_in_words_what_made_it(bob, team, planner, words):
    recording = stories.Recording().at(0, stories.created())
    recording.at(1, stories.accepted((), planner=planner))
    run = record_run(team, recording.entries)
    assert f">{words}</span>" in bob.get(f"/runs/{run.id}/").content.decode()


@pytest.mark.parametrize("kind", [StepStarted, PlanAccepted])
def test_run_with_missing_entries_names_the_fault(bob, team, kind):
    story = [entry for entry in stories.finished() if not isinstance(entry.event, kind)]
    run = record_run(team, story)
    page = bob.get(address("run_detail", run))
    assert page.status_code == 500
    assert "missing in the ledger" in page.content.decode()
    answer = bob.get(reverse("rest:run", args=[run.id]))
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "history_unreadable"


def alone(**fields):
    """Return the events of a run whose tier let one worker answer."""
    recording = stories.Recording()
    recording.at(0, replace(stories.created(), **fields))
    plan = stories.accepted((), workers=("gpt-5",), planner="single_worker")
    recording.at(5, plan).at(10, stories.started(0, "gpt-5"))
    recording.at(900, stories.completed(0, "gpt-5", "Rome."))
    return recording.at(910, stories.run_completed("Rome.")).entries


def test_ultra_run_without_a_planner_says_so_and_leads_those_who_may_to_it(
    alice, bob, team
):
    run = record_run(team, alone(), planner="single_worker")
    url = address("run_detail", run)
    page = bob.get(url).content.decode()
    assert page.count("Answered without a plan") == 2
    assert "The ultra tier of the pool default does not plan" in page
    assert "Let the tier plan" not in page
    assert "Let the tier plan" in alice.get(url).content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"tier": "mini"},
        {"tier": "direct"},
        {"params": '{"planner": {"name": "single_worker", "worker": "gpt-5"}}'},
    ],
)
def test_run_that_asked_for_one_worker_misses_no_plan(bob, team, fields):
    run = record_run(team, alone(**fields), planner="single_worker")
    page = bob.get(address("run_detail", run)).content.decode()
    assert "without a plan" not in page.replace("one worker, without a plan", "")


def test_a_run_that_waits_for_people_has_no_count_of_steps_and_no_clock(bob, team):
    run = record(team, told(stories.held))
    page = bob.get(address("run_body", run)).content.decode()
    metrics = page.partition('<dl class="metrics">')[2].partition("</dl>")[0]
    assert "of 0" not in page
    assert "waiting for approval" in metrics
    assert "data-since" not in metrics
    assert "Usually about" not in page
