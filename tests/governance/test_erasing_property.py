"""Whatever people do, in whatever order: what is held stays, what is over goes."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.audit.models import Content, Entry
from apps.audit.services import entries_append
from apps.audit.types import Batch, EntryDraft
from apps.governance import retention_job
from apps.governance.models import LegalHold, Retention
from apps.governance.services import hold_place, hold_release
from tests.conftest import Cast
from tests.factories import ACTOR
from tests.governance.conftest import erase, later, report
from tests.rest.things import make_run

DAYS = 183
RUNS = 3
Doing = tuple[str, int]
DOINGS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "hold", "hold all", "release", "erase"]),
        st.integers(0, 7),
    ),
    max_size=14,
)


class Team:
    """A team, some runs, and what ought to have become of their texts."""

    def __init__(self, cast: Cast) -> None:
        self.team = cast.team
        self.runs = [make_run(cast) for _ in range(RUNS)]
        Retention.objects.create(team_id=self.team.id, days=DAYS)

    def do(self, doing: Doing) -> None:
        what, number = doing
        if what == "write":
            self.write(self.runs[number % RUNS])
        elif what == "hold":
            self.hold(self.runs[number % RUNS])
        elif what == "hold all":
            self.hold(None)
        elif what == "release":
            for hold in self.holds()[:1]:
                hold_release(hold=hold, actor=ACTOR)
        else:
            self.erase(number)

    def write(self, run_id: uuid.UUID, entries: int = 3) -> None:
        draft = EntryDraft(
            "step.completed", "run", run_id, ACTOR, {}, {"text": "x", "more": "y"}
        )
        with transaction.atomic():
            entries_append(batch=Batch(self.team.id, (draft,) * entries))

    def hold(self, run_id: uuid.UUID | None) -> None:
        hold_place(team=self.team, run_id=run_id, reason="Matter", actor=ACTOR)

    def holds(self) -> list[LegalHold]:
        return list(LegalHold.objects.for_team(self.team.id).filter(released_at=None))

    def erase(self, place: int) -> None:
        """Let the time of all but the last few entries be over, and look."""
        entries = Entry.objects.for_team(self.team.id).order_by("seq")
        times = list(entries.values_list("recorded_at", flat=True))
        if not times:
            return
        before = times[max(0, len(times) - 1 - place)]
        kept = self.texts()
        held = {hold.run_id for hold in self.holds()}
        erase(before + timedelta(days=DAYS))
        for seq, subject_id, recorded_at in entries.values_list(
            "seq", "subject_id", "recorded_at"
        ):
            is_held = None in held or subject_id in held
            was_there, is_there = seq in kept, seq in self.texts()
            if is_held or recorded_at >= before:
                assert is_there == was_there
            else:
                assert not is_there

    def texts(self) -> set[int]:
        contents = Content.objects.for_team(self.team.id)
        present = contents.filter(sealed__isnull=False)
        return set(present.values_list("seq", flat=True))


@given(doings=DOINGS)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_g13_what_is_held_stays_and_what_is_over_goes(
    cast: Cast, doings: list[Doing]
) -> None:
    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(retention_job, "ENTRIES_AT_ONCE", 4)
        team = Team(cast)
        for doing in doings:
            team.do(doing)
        for hold in team.holds():
            hold_release(hold=hold, actor=ACTOR)
        erase(later(DAYS + 1))
        assert team.texts() == set()
        assert report(cast.team.id).is_intact
        transaction.set_rollback(True)


def test_g13_two_processes_erase_each_text_once(cast: Cast) -> None:
    team = Team(cast)
    for run_id in team.runs * 4:
        team.write(run_id, 20)
    texts = Content.objects.for_team(cast.team.id).count()
    moment = later(DAYS + 1)

    def one_process(_: int) -> int:
        try:
            return erase(moment)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        assert sum(threads.map(one_process, range(2))) == texts
    assert report(cast.team.id).is_intact
    assert report(cast.team.id).erased == texts
