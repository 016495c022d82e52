"""Live and verified answers: what goes out before the answer is whole."""

from __future__ import annotations

from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.ports import CallParams
from apps.pools.models import Tier
from apps.pools.selectors import snapshots_forget
from apps.runs.selectors import access_run, run_record
from tests.conftest import Site
from tests.runs.starting import Heard, order, run

QUESTION = "What is 17 * 23 + 4?"
JSON_FORMAT = {"type": "json_object"}


def streamed(site: Site, question: str = QUESTION, **fields: Any) -> Heard:
    return run(order(site.cast, question, is_streamed=True, **fields))


def test_live_answer_goes_out_piece_by_piece(site: Site):
    heard = streamed(site)
    assert heard.pieces_before_the_end


@pytest.mark.parametrize(
    "fields",
    [{"delivery": "verified"}, {"params": CallParams(response_format=JSON_FORMAT)}],
)
def test_verified_answer_goes_out_whole(site: Site, fields: dict[str, Any]):
    heard = streamed(site, **fields)
    assert isinstance(heard.summary.end, ev.RunCompleted)
    assert heard.pieces_before_the_end == ""
    record = run_record(site.cast.team.id, heard.summary.run_id)
    assert record.params["delivery"] == "verified"


def test_tier_says_how_unless_somebody_says_otherwise(site: Site):
    team = site.cast.team
    Tier.objects.for_team(team.id).update(delivery="verified")
    snapshots_forget(team.id)
    assert streamed(site).pieces_before_the_end == ""
    assert streamed(site, delivery="live").pieces_before_the_end


def test_plain_run_has_nothing_beside_its_prompt_on_record(site: Site):
    run_id = run(order(site.cast, QUESTION, delivery=None)).summary.run_id
    access_run(team_id=site.cast.team.id, run_id=run_id)
    assert run_record(site.cast.team.id, run_id).params == {}
