"""G13: what is on legal hold stays, until it is released."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from apps.accounts.models import Team
from apps.accounts.services import team_delete
from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.governance import retention_job
from apps.governance.models import LegalHold, Retention
from apps.governance.selectors import held
from apps.governance.services import hold_place, hold_release, retention_set
from apps.governance.types import Held
from apps.runs.models import Run
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.governance.conftest import PROMPT, Ask, erase, later, report, texts_of
from tests.patience import PATIENCE_S
from tests.rest.things import make_run

AWHILE_S = 0.5


def write_text(team_id: uuid.UUID, run_id: uuid.UUID) -> None:
    draft = EntryDraft("step.completed", "run", run_id, ACTOR, {}, {"text": "x"})
    with transaction.atomic():
        entries_append(batch=Batch(team_id, (draft,)))


def place(site: Site, run_id: uuid.UUID | None) -> LegalHold:
    return hold_place(
        team=site.cast.team, run_id=run_id, reason="Matter 7", actor=ACTOR
    )


def test_g13_held_run_keeps_its_texts_and_others_do_not(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    team_id = site.cast.team.id
    free, kept = ask(), ask("Keep this one.")
    place(site, kept)
    assert erase(later(184)) > 0
    assert texts_of(team_id, free) == []
    assert "Keep this one." in texts_of(team_id, kept)
    titles = dict(Run.objects.for_team(team_id).values_list("id", "title"))
    assert titles == {free: "", kept: "Keep this one."}
    assert report(team_id).is_intact


def test_g13_released_run_is_erased_next(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    kept = ask()
    hold = place(site, kept)
    ask("Another.")
    erase(later(184))
    hold_release(hold=hold, actor=ACTOR)
    assert erase(later(184)) > 3
    assert texts_of(site.cast.team.id, kept) == []
    assert report(site.cast.team.id).is_intact


def test_g13_second_hold_keeps_what_the_first_let_go(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    kept = ask()
    first, _ = place(site, kept), place(site, kept)
    hold_release(hold=first, actor=ACTOR)
    erase(later(184))
    assert PROMPT in texts_of(site.cast.team.id, kept)


def test_g13_released_run_is_erased_if_erasing_stood_at_its_first_entry(
    cast: Cast,
) -> None:
    team_id, run_id = cast.team.id, make_run(cast)
    Retention.objects.create(team_id=team_id, days=183)
    write_text(team_id, run_id)
    first = Entry.objects.for_team(team_id).get(subject_id=run_id)
    hold = hold_place(team=cast.team, run_id=run_id, reason="Matter 7", actor=ACTOR)
    erase(first.recorded_at + timedelta(days=183, microseconds=1))
    assert Retention.objects.for_team(team_id).get().erased_through == first.seq
    hold_release(hold=hold, actor=ACTOR)
    assert erase(later(184)) == 1


def test_g13_hold_that_is_about_to_be_placed_is_waited_for(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    team_id, run_id = cast.team.id, make_run(cast)
    Retention.objects.create(team_id=team_id, days=183)
    write_text(team_id, run_id)
    is_past = threading.Event()

    def looked(of: uuid.UUID) -> Held:
        found = held(of)
        is_past.set()
        return found

    def erase_aside() -> int:
        try:
            return erase(later(184))
        finally:
            connection.close()

    monkeypatch.setattr(retention_job, "held", looked)
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            hold_place(team=cast.team, run_id=run_id, reason="Matter 7", actor=ACTOR)
            erased = threads.submit(erase_aside)
            assert not is_past.wait(AWHILE_S)
        assert erased.result(PATIENCE_S) == 0
    assert texts_of(team_id, run_id) == ["x"]


def test_g13_hold_on_the_team_keeps_everything(
    site: Site, ask: Ask, half_a_year: None
) -> None:
    run_id = ask()
    hold = place(site, None)
    assert erase(later(2_000)) == 0
    hold_release(hold=hold, actor=ACTOR)
    assert erase(later(184)) > 3
    assert texts_of(site.cast.team.id, run_id) == []


def test_g13_held_team_cannot_be_deleted(site: Site, ask: Ask) -> None:
    team = site.cast.team
    hold = place(site, ask())
    with pytest.raises(Conflict, match="legal hold"):
        team_delete(team=team, confirmation=team.slug, actor=ACTOR)
    assert Team.objects.filter(id=team.id).exists()
    hold_release(hold=hold, actor=ACTOR)
    team_delete(team=team, confirmation=team.slug, actor=ACTOR)
    assert not Team.objects.filter(id=team.id).exists()


def test_g13_nothing_is_set_or_held_of_a_team_that_is_gone(cast: Cast) -> None:
    team = Team.objects.get(id=cast.team.id)  # as another request had it
    team_delete(team=cast.team, confirmation=team.slug, actor=ACTOR)
    with pytest.raises(NotFound, match="deleted"):
        hold_place(team=team, run_id=None, reason="Too late", actor=ACTOR)
    with pytest.raises(NotFound, match="deleted"):
        retention_set(team=team, days=2_000, actor=ACTOR)
    assert not LegalHold.objects.across_teams().exists()
    assert Retention.objects.for_team(team.id).get().days is None
    assert entry_list(team.id)[-1].action == "team.deleted"


def test_holds_are_on_record(site: Site, ask: Ask) -> None:
    run_id = ask()
    hold = place(site, run_id)
    hold_release(hold=hold, actor=ACTOR)
    entries = entry_list(site.cast.team.id, subject_id=hold.id)
    facts = {"run_id": str(run_id), "reason": "Matter 7"}
    assert [(e.action, e.data) for e in entries] == [
        ("legal_hold.placed", facts),
        ("legal_hold.released", facts),
    ]


def test_hold_is_released_once(site: Site) -> None:
    hold = place(site, None)
    hold_release(hold=hold, actor=ACTOR)
    with pytest.raises(Conflict, match="already"):
        hold_release(hold=hold, actor=ACTOR)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\x00b", 7, None])
def test_hold_needs_a_reason(site: Site, reason: object) -> None:
    with pytest.raises(InvalidFields, match="reason"):
        hold_place(team=site.cast.team, run_id=None, reason=reason, actor=ACTOR)
    assert not LegalHold.objects.across_teams().exists()


def test_hold_is_of_a_run_of_the_team(site: Site, ask: Ask) -> None:
    run_id = ask()
    with pytest.raises(InvalidFields, match="no run"):
        hold_place(team=site.cast.other_team, run_id=run_id, reason="Mine", actor=ACTOR)
