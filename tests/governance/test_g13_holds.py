"""G13: what is on legal hold stays, until it is released."""

from __future__ import annotations

import uuid

import pytest

from apps.accounts.models import Team
from apps.accounts.services import team_delete
from apps.audit.selectors import entry_list
from apps.core.errors import Conflict, InvalidFields, NotFound
from apps.governance.models import LegalHold, Retention
from apps.governance.services import hold_place, hold_release, retention_set
from tests.conftest import Cast, Site
from tests.factories import ACTOR
from tests.governance.conftest import PROMPT, Ask, erase, later, report, texts_of


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
