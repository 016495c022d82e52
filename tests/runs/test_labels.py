"""Metadata of requests and tags of runs: kept, shown, filtered by, erased."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from django.test import Client

from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.engine.events import RunCreated
from apps.runs.models import Run, RunLabel
from apps.runs.records.run_params import order_of
from apps.runs.selectors import labels_of, run_events
from apps.runs.services import run_texts_erase
from tests.conftest import Cast, Site
from tests.recorded import RecordedQueries
from tests.rest.conftest import member
from tests.rest.things import make_run

METADATA = {"ticket": "4711", "customer": "Zoë = 7"}


def post(site: Site, path: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"Authorization": f"Bearer {site.key}"}
    return httpx.post(f"{site.api_url}/{path}", headers=headers, json=body, timeout=60)


def chat(site: Site, **fields: Any) -> httpx.Response:
    messages = [{"role": "user", "content": "What is 2 + 2?"}]
    body = {"model": "conductor-mini", "messages": messages, **fields}
    return post(site, "chat/completions", body)


def newest(cast: Cast) -> Run:
    return Run.objects.for_team(cast.team.id).latest("id")


def browser(cast: Cast, name: str) -> Client:
    client = Client()
    client.force_login(getattr(cast, name))
    return client


def rest_ids(cast: Cast, **query: str) -> list[str]:
    page = member(cast.vera).get(f"runs/?{httpx.QueryParams(query)}").json()
    return [run["id"] for run in page["data"]]


def test_metadata_of_a_completion_is_kept_with_its_run(site: Site) -> None:
    answer = chat(site, metadata=METADATA)
    assert "x-conductor-ignored" not in answer.headers
    run = newest(site.cast)
    assert labels_of(run.team_id, [run.id])[run.id].metadata == METADATA
    created = run_events(run)[0].event
    assert isinstance(created, RunCreated)
    assert order_of(run, created).metadata == METADATA


def test_metadata_of_a_response_is_kept_with_its_run(site: Site) -> None:
    body = {"model": "conductor-mini", "input": "What is 2 + 2?", "metadata": METADATA}
    assert post(site, "responses", body).json()["metadata"] == METADATA
    run = newest(site.cast)
    assert labels_of(run.team_id, [run.id])[run.id].metadata == METADATA


@pytest.mark.parametrize("path", ["completions", "messages"])
def test_metadata_of_other_forms_is_kept_with_its_run(site: Site, path: str) -> None:
    question = "What is 2 + 2?"
    asked: dict[str, Any] = {"prompt": question}
    if path == "messages":
        asked = {"messages": [{"role": "user", "content": question}], "max_tokens": 99}
    told = METADATA | {"user_id": None}
    answer = post(site, path, {"model": "conductor-mini", "metadata": told, **asked})
    assert answer.status_code == 200
    assert "x-conductor-ignored" not in answer.headers
    run = newest(site.cast)
    assert labels_of(run.team_id, [run.id])[run.id].metadata == METADATA


def test_metadata_of_a_rest_run_is_kept_and_shown(site: Site) -> None:
    asked = {"model": "conductor-mini", "prompt": "What is 2 + 2?"}
    told = member(site.cast.bob).post("runs/", {**asked, "metadata": METADATA}).json()
    assert told["metadata"] == METADATA


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": 1},
        {"a": "x" * 513},
        {"a" * 65: ""},
        {str(n): "" for n in range(17)},
        {"a": "\0"},
        ["a"],
    ],
)
def test_bad_metadata_is_refused(site: Site, metadata: Any) -> None:
    answer = chat(site, metadata=metadata)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith("metadata")
    asked = {"model": "conductor-mini", "prompt": "?", "metadata": metadata}
    assert member(site.cast.bob).post("runs/", asked).status_code == 400


@pytest.fixture
def labelled(cast: Cast) -> Run:
    run = Run.objects.for_team(cast.team.id).get(id=make_run(cast))
    rows = {"": "checked", "ticket": "4711", "customer": "Zoë = 7"}
    for name, value in rows.items():
        RunLabel.objects.create(team=cast.team, run_id=run.id, name=name, value=value)
    return run


@pytest.mark.parametrize(
    ("label", "is_found"),
    [
        ("checked", True),
        ("ticket=4711", True),
        ("customer=Zoë = 7", True),
        ("4711", False),
        ("ticket=47", False),
        ("checked=", False),
    ],
)
def test_list_is_filtered_by_label(
    cast: Cast, labelled: Run, label: str, is_found: bool
) -> None:
    make_run(cast)
    assert rest_ids(cast, label=label) == ([str(labelled.id)] if is_found else [])
    page = browser(cast, "vera").get("/runs/", {"label": label}).content.decode()
    assert page.count("data-run-id") == int(is_found)


def test_label_that_makes_no_sense_is_refused_by_rest(cast: Cast) -> None:
    assert member(cast.vera).get("runs/?label==x").status_code == 400


def test_other_team_finds_no_label(cast: Cast, labelled: Run) -> None:
    page = browser(cast, "mallory").get("/runs/", {"label": "checked"})
    assert str(labelled.id) not in page.content.decode()


def test_labels_are_shown_with_links_to_the_list(site: Site) -> None:
    chat(site, metadata=METADATA)
    run = newest(site.cast)
    page = browser(site.cast, "vera").get(f"/runs/{run.id}/").content.decode()
    assert "?label=ticket=4711" in page
    assert "?label=customer=Zo%C3%AB%20%3D%207" in page
    assert "Save tags" not in page


def test_labels_are_erased_with_the_texts(cast: Cast, labelled: Run) -> None:
    other = make_run(cast)
    RunLabel.objects.create(team=cast.team, run_id=other, name="", value="checked")
    run_texts_erase(cast.team.id, [labelled.id])
    assert rest_ids(cast, label="checked") == [str(other)]


def test_tags_are_set_over_rest(cast: Cast, labelled: Run) -> None:
    address = f"runs/{labelled.id}/tags/"
    answer = member(cast.bob).put(address, {"tags": ["quarter 3", " new ", "new"]})
    assert answer.json() == {"tags": ["new", "quarter 3"]}
    told = member(cast.vera).get(f"runs/{labelled.id}/").json()
    assert told["tags"] == ["new", "quarter 3"]
    assert told["metadata"]["ticket"] == "4711"


def test_tags_are_set_on_the_page(site: Site) -> None:
    chat(site)
    run = newest(site.cast)
    bob = browser(site.cast, "bob")
    bob.post(f"/runs/{run.id}/tags/", {"tags": "checked, quarter 3,"})
    page = bob.get("/runs/").content.decode()
    assert '<bdi class="label">checked</bdi>' in page
    assert 'value="checked, quarter 3"' in bob.get(f"/runs/{run.id}/").content.decode()


def test_change_of_tags_is_recorded_and_the_tags_are_a_text(
    cast: Cast, labelled: Run
) -> None:
    member(cast.bob).put(f"runs/{labelled.id}/tags/", {"tags": ["new"]})
    entry = entry_list(cast.team.id, subject_id=labelled.id)[-1]
    assert (entry.action, entry.actor.display) == ("run.tagged", "Bob")
    assert entry.data == {"added": 1, "removed": 1}
    assert json.loads(entry.bodies["tags"] or "") == ["new"]


def test_tags_that_stay_the_same_are_not_recorded(cast: Cast, labelled: Run) -> None:
    member(cast.bob).put(f"runs/{labelled.id}/tags/", {"tags": ["checked"]})
    assert not Entry.objects.for_team(cast.team.id).filter(action="run.tagged")


@pytest.mark.parametrize(
    "tags", [["a,b"], ["x" * 51], [""], [7], [str(n) for n in range(21)], "a"]
)
def test_bad_tags_are_refused(cast: Cast, labelled: Run, tags: Any) -> None:
    answer = member(cast.bob).put(f"runs/{labelled.id}/tags/", {"tags": tags})
    assert answer.status_code == 400


def test_viewer_sets_no_tags(cast: Cast, labelled: Run) -> None:
    answer = member(cast.vera).put(f"runs/{labelled.id}/tags/", {"tags": []})
    assert answer.status_code == 403


def test_list_reads_the_labels_of_all_runs_at_once(
    cast: Cast, labelled: Run, recorded_queries: RecordedQueries
) -> None:
    for _ in range(10):
        make_run(cast)
    vera = member(cast.vera)
    vera.get("runs/")
    with recorded_queries():
        vera.get("runs/")
