"""Several runs that are at work in this process, stopped at once from the list."""

from __future__ import annotations

from django.contrib.messages import get_messages

from apps.audit.models import Entry
from tests.conftest import Site
from tests.governance.approval_runs import HOLD, ended, start, waiting
from tests.governance.test_policies import PROMPT, in_force
from tests.rest.conftest import member


def test_live_runs_are_stopped_together(site: Site) -> None:
    in_force(site, HOLD)
    bob = member(site.cast.bob)
    first, second, third = (start(bob, f"{PROMPT} {n}") for n in range(3))
    chosen = {"action": "stop", "run": [str(first), str(second)]}
    response = bob.client.post("/runs/selected/", chosen)
    texts = [str(each) for each in get_messages(response.wsgi_request)]
    assert texts == ["2 runs were stopped."]
    assert {ended(first).state, ended(second).state} == {"cancelled"}
    assert waiting(third)
    stops = Entry.objects.across_teams().filter(action="run.cancelled")
    assert set(stops.values_list("subject_id", flat=True)) == {first, second}


def test_a_viewer_stops_no_live_run(site: Site) -> None:
    in_force(site, HOLD)
    run_id = start(member(site.cast.bob))
    chosen = {"action": "stop", "run": [str(run_id)]}
    vera = member(site.cast.vera).client
    assert vera.post("/runs/selected/", chosen).status_code == 403
    assert waiting(run_id)
