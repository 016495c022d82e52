"""G13: texts are erased in their time, no earlier, and every chain stays verifiable."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.audit.models import Content, Entry
from apps.audit.selectors import entry_list, texts_recorded_before
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.errors import InvalidFields
from apps.core.ids import new_id
from apps.governance import retention_job
from apps.governance.models import LegalHold, Retention
from apps.governance.selectors import retention_status
from apps.governance.services import (
    GRACE,
    hold_place,
    hold_release,
    retention_erase,
    retention_set,
)
from apps.runs.models import Run, SearchBlock
from apps.runs.services import runs_index
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.governance.conftest import PROMPT, Ask, erase, later, report, texts_of


def test_g13_texts_go_when_their_time_is_over_and_entries_stay(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    team_id = site.cast.team.id
    run_id = ask()
    before = [entry.hash for entry in entry_list(team_id)]
    texts = len(texts_of(team_id, run_id))
    assert PROMPT in texts_of(team_id, run_id)
    assert erase(later(182)) == 0
    assert erase(later(184)) == texts > 3
    assert texts_of(team_id, run_id) == []
    assert not Content.objects.for_team(team_id).filter(sealed__isnull=False)
    assert [entry.hash for entry in entry_list(team_id)][: len(before)] == before
    found = report(team_id)
    assert (found.fault, found.erased, found.bodies) == (None, texts, 0)


def test_g13_erasure_is_on_record_with_its_reason(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    ask()
    count = erase(later(184))
    entry = entry_list(site.cast.team.id)[-1]
    assert (entry.action, entry.actor.type) == ("audit.content_erased", "service")
    assert entry.data["reason"] == "older than 183 days"
    assert len(entry.data["bodies"]) == count


def test_g13_row_of_the_run_holds_nothing_of_the_prompt(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    run_id = ask()
    erase(later(184))
    row = Run.objects.for_team(site.cast.team.id).filter(id=run_id).values().get()
    assert row["title"] == ""
    assert "canary" not in str(row)
    assert (row["state"], row["steps_done"]) == ("completed", row["steps_total"])


def test_g13_words_of_the_run_leave_the_search_index(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    team_id, run_id = site.cast.team.id, ask()
    list(runs_index())
    words = SearchBlock.objects.for_team(team_id)
    assert words.exists()
    hold_place(team=site.cast.team, run_id=run_id, reason="Case 7", actor=ACTOR)
    erase(later(184))
    assert words.exists()
    hold_release(
        hold=LegalHold.objects.for_team(team_id).get(run_id=run_id), actor=ACTOR
    )
    erase(later(184))
    assert not words.exists()


def test_g13_younger_texts_stay(site: Site, ask: Ask, half_a_year: None) -> None:
    team_id = site.cast.team.id
    old = ask()
    passed = Entry.objects.for_team(team_id).filter(subject_id=old).count()
    first = Entry.objects.for_team(team_id).filter(subject_id=old).latest("seq")
    young = ask("And what is 2 + 2?")
    erase(first.recorded_at + timedelta(days=183, microseconds=1))
    assert passed > 3
    assert texts_of(team_id, old) == []
    assert "And what is 2 + 2?" in texts_of(team_id, young)


def test_g13_text_as_old_as_the_period_stays_until_it_is_older(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    run_id, team_id = ask(), site.cast.team.id
    last = Entry.objects.for_team(team_id).filter(subject_id=run_id).latest("seq")
    end = last.recorded_at + timedelta(days=183)
    erase(end)
    assert texts_of(team_id, run_id)
    erase(end + timedelta(microseconds=1))
    assert texts_of(team_id, run_id) == []


def test_g13_nothing_is_erased_unless_somebody_said_so(site: Site, ask: Ask) -> None:
    run_id = ask()
    assert erase(later(36_500)) == 0
    assert PROMPT in texts_of(site.cast.team.id, run_id)
    assert not Retention.objects.for_team(site.cast.team.id)


def test_g13_site_says_for_teams_that_say_nothing(
    site: Site, ask: Ask, settings: Any
) -> None:
    run_id, team_id = ask(), site.cast.team.id
    settings.RETENTION_DAYS = 200
    assert retention_status(team_id).effective_days == 200
    retention_set(team=site.cast.team, days=400, actor=ACTOR)
    assert erase(later(201)) == 0
    retention_set(team=site.cast.team, days=None, actor=ACTOR)
    assert erase(later(201)) > 0
    assert texts_of(team_id, run_id) == []


def test_g13_other_teams_keep_theirs(site: Site, ask: Ask, half_a_year: None) -> None:
    other = retention_set(team=site.cast.other_team, days=400, actor=ACTOR)
    ask()
    steps = list(retention_erase(later(184)))
    assert {step.team_id for step in steps} == {site.cast.team.id}
    other.refresh_from_db()
    assert other.erased_through == 0


def test_g13_texts_of_a_deleted_team_go_as_well(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    run_id, team_id = ask(), site.cast.team.id
    site.cast.team.delete()
    assert erase(later(184)) > 3
    assert texts_of(team_id, run_id) == []
    assert report(team_id).is_intact


@pytest.mark.parametrize("canonical", [b"{not json", b"{}"])
def test_g13_changed_entry_keeps_the_texts_of_its_own_team_alone(
    cast: Cast, caplog: pytest.LogCaptureFixture, canonical: bytes
) -> None:
    first, second = sorted((cast.team.id, cast.other_team.id))
    for team_id in (first, second):
        Retention.objects.create(team_id=team_id, days=183)
        draft = EntryDraft("step.completed", "run", new_id(), ACTOR, {}, {"text": "x"})
        with transaction.atomic():
            entries_append(batch=Batch(team_id, (draft,)))
    Entry.objects.for_team(first).update(canonical=canonical)
    assert {step.team_id for step in retention_erase(later(184))} == {second}
    contents = Content.objects.across_teams().filter(sealed__isnull=False)
    assert [content.team_id for content in contents] == [first]
    assert f"the ledger of team {first} cannot be erased in" in caplog.text


@pytest.mark.parametrize("days", [182, 2_558, 0, -1, True, "200", 183.0])
def test_g13_period_lies_between_half_a_year_and_seven(site: Site, days: Any) -> None:
    with pytest.raises(InvalidFields, match="183 to 2,557"):
        retention_set(team=site.cast.team, days=days, actor=ACTOR)
    assert not Retention.objects.for_team(site.cast.team.id).exclude(days=None)


def test_g13_database_refuses_a_shorter_period_too(site: Site) -> None:
    with pytest.raises(IntegrityError):
        Retention.objects.create(team_id=site.cast.team.id, days=7)


def test_shorter_period_waits_for_second_thoughts(site: Site, ask: Ask) -> None:
    run_id, team = ask(), site.cast.team
    retention_set(team=team, days=183, actor=ACTOR)
    status = retention_status(team.id)
    assert status.begins_at is not None
    assert timezone.now() + GRACE - status.begins_at < timedelta(minutes=1)
    row = Retention.objects.for_team(team.id).get()
    row.begins_at = later(184 + 7)
    row.save()
    assert erase(later(184)) == 0
    retention_set(team=team, days=400, actor=ACTOR)
    assert erase(later(184 + 8)) == 0
    assert PROMPT in texts_of(team.id, run_id)


def test_longer_period_begins_at_once(site: Site, half_a_year: None) -> None:
    retention_set(team=site.cast.team, days=365, actor=ACTOR)
    assert retention_status(site.cast.team.id).begins_at is None


def test_change_is_on_record_once(site: Site) -> None:
    for _ in range(2):
        retention_set(team=site.cast.team, days=365, actor=ACTOR)
    entries = entry_list(site.cast.team.id, subject_id=site.cast.team.id)
    assert [(e.action, e.data) for e in entries] == [
        ("retention.updated", {"before": {"days": None}, "after": {"days": 365}})
    ]


def test_steps_may_stop_anywhere_and_go_on(
    site: Site, ask: Ask, half_a_year: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_job, "ENTRIES_AT_ONCE", 2)
    run_id, team_id = ask(), site.cast.team.id
    whole = len(texts_of(team_id, run_id))
    moment = later(184)
    for step in retention_erase(moment):
        if step.texts:
            break
    left = len(texts_of(team_id, run_id))
    assert 0 < left < whole
    assert report(team_id).is_intact
    assert erase(moment) == left
    assert erase(moment) == 0
    assert report(team_id).is_intact


@pytest.mark.parametrize("change", ["hold on the run", "hold on all", "longer", "step"])
def test_g13_what_changes_while_a_step_reads_counts(
    site: Site,
    ask: Ask,
    half_a_year: None,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    team, run_id = site.cast.team, ask()
    before = texts_of(team.id, run_id)
    read = texts_recorded_before

    def read_and_change(*args: Any, **kwargs: Any) -> Any:
        entries = read(*args, **kwargs)
        monkeypatch.setattr(retention_job, "texts_recorded_before", read)
        if change == "longer":
            Retention.objects.for_team(team.id).update(days=400)
        elif change == "step":
            assert erase(later(184))  # by another process
        else:
            held_run = run_id if change == "hold on the run" else None
            hold_place(team=team, run_id=held_run, reason="Case 7", actor=ACTOR)
        return entries

    monkeypatch.setattr(retention_job, "texts_recorded_before", read_and_change)
    erase(later(184))
    assert texts_of(team.id, run_id) == ([] if change == "step" else before)
    erased = [
        (body["seq"], body["name"])
        for entry in entry_list(team.id)
        if entry.action == "audit.content_erased"
        for body in entry.data["bodies"]
    ]
    assert bool(erased) == (change == "step")
    assert len(erased) == len(set(erased))  # none of them twice


def test_command_says_what_it_did(
    site: Site, ask: Ask, half_a_year: None, capsys: pytest.CaptureFixture[str]
) -> None:
    ask()
    call_command("retention_erase")
    assert capsys.readouterr().out == (
        "0 texts of 0 teams are erased\n0 conversations are deleted\n"
    )


def test_erased_run_says_so_wherever_it_is_read(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    run_id = ask()
    erase(later(184))
    api = httpx.Client(
        base_url=f"{site.url}/api/v1/",
        headers={"Authorization": f"Bearer {site.key}"},
        timeout=30,
    )
    with api:
        run = api.get(f"runs/{run_id}/").json()
        assert (run["state"], run["prompt"]) == ("completed", "")
        again = api.post(f"runs/{run_id}/rerun/", json={})
        assert again.status_code == 400
        assert "has been erased" in again.json()["error"]["message"]
        entries = api.get(f"runs/{run_id}/entries/").json()["data"]
    assert {text for e in entries for text in e["bodies"].values()} == {None}
