"""Families of tasks that callers name: recorded, bounded, listed."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from apps.audit.selectors import entry_list
from apps.runs.models import Run, RunFamily
from apps.runs.planning import families
from tests.conftest import Site
from tests.rest.conftest import Caller, fault, program
from tests.rest.test_runs import ended

ASKED = {"model": "conductor-mini", "prompt": "What is 17 * 23 + 4?"}


def rest_run(site: Site, family: Any) -> Run:
    caller = program(site.key)
    told = caller.post("runs/", {**ASKED, "conductor": {"family": family}}).json()
    assert ended(caller, told["id"])["family"]
    return Run.objects.for_team(site.cast.team.id).get(id=told["id"])


def chat(site: Site, **fields: Any) -> httpx.Response:
    messages = [{"role": "user", "content": ASKED["prompt"]}]
    body = {"model": "conductor-mini", "messages": messages, **fields}
    headers = {"Authorization": f"Bearer {site.key}"}
    return httpx.post(f"{site.api_url}/chat/completions", json=body, headers=headers)


def family_of_newest(site: Site) -> str:
    return Run.objects.for_team(site.cast.team.id).latest("id").family


def test_a_family_is_recorded_and_its_runs_are_listed(site):
    run = rest_run(site, " invoices ")
    chat(site)
    assert run.family == "invoices"
    created = entry_list(site.cast.team.id, subject_id=run.id)[0]
    assert created.data["family"] == "invoices"
    caller: Caller = program(site.key)
    for query, number in (("invoices", 1), ("-", 1), ("letters", 0)):
        assert len(caller.get(f"runs/?family={query}").json()["data"]) == number


@pytest.mark.parametrize(
    ("fields", "family"),
    [
        ({"conductor": {"family": "letters"}}, "letters"),
        ({"metadata": {"family": "invoices", "user": "7"}}, "invoices"),
        (
            {"conductor": {"family": "a"}, "metadata": {"family": "b"}},
            "a",
        ),
        ({"metadata": {"user": "7"}}, ""),
    ],
)
def test_chat_completions_name_it_in_two_places(site, fields, family):
    assert chat(site, **fields).status_code == 200
    assert family_of_newest(site) == family


@pytest.mark.parametrize("family", ["", "-", "x" * 61, "a\nb", 7, ["a"]])
@pytest.mark.parametrize("place", ["conductor", "metadata"])
def test_what_is_no_name_is_refused(site, family, place):
    answer = chat(site, **{place: {"family": family}})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == f"{place}.family"
    assert not Run.objects.for_team(site.cast.team.id).exists()


def test_rest_refuses_what_is_no_name(site):
    body = {**ASKED, "conductor": {"family": "-"}}
    error = fault(program(site.key).post("runs/", body), 400)
    assert "conductor.family" in error["message"]


def test_more_families_than_the_bound_count_as_other(site, monkeypatch):
    monkeypatch.setattr(families, "MAX_FAMILIES", 2)
    names = ["a", "b", "c", "a", "d", "other"]
    found = [rest_run(site, name).family for name in names]
    assert found == ["a", "b", "other", "a", "other", "other"]
    rows = RunFamily.objects.for_team(site.cast.team.id)
    assert set(rows.values_list("name", flat=True)) == {"a", "b"}
    assert not RunFamily.objects.for_team(site.cast.other_team.id).exists()


def test_a_run_that_is_asked_again_keeps_its_family(site):
    run = rest_run(site, "invoices")
    again = program(site.key).post(f"runs/{run.id}/rerun/").json()
    assert again["family"] == "invoices"
