"""Presets on the playground: fields, settings, and what a run says of its preset."""

from __future__ import annotations

import re
import uuid

import pytest

from apps.accounts.models import Role
from apps.accounts.principal import member_principal
from apps.presets.services import preset_create, preset_update
from apps.runs.models import Run
from apps.runs.selectors import run_record, run_view
from tests.rest.conftest import member

VALUES = {
    "name": "Greet",
    "prompt": "Say hello to {{name}} in {{language|English}}.",
    "system": "Be brief.",
    "settings": {"model": "worker/echo", "temperature": 0.5, "max_steps": 2},
}


@pytest.fixture
def principal(cast):
    return member_principal(cast.bob, cast.team, Role.MEMBER, {})


@pytest.fixture
def preset(principal):
    return preset_create(principal=principal, values=VALUES)


@pytest.fixture
def bob(site):
    site.add_worker("echo")
    return member(site.cast.bob).client


def sent(preset, **more):
    return {
        "preset": str(preset.id),
        "preset_version": "1",
        "prompt": VALUES["prompt"],
        "variable-name": "Bob",
        "worker": "worker/echo",
        **more,
    }


def started(client, site, body) -> Run:
    answer = client.post(
        "/playground/runs/", body, headers={"Accept": "application/json"}
    )
    assert answer.status_code == 201, answer.content
    run_id = uuid.UUID(answer.json()["id"])
    return Run.objects.for_team(site.cast.team.id).get(id=run_id)


def refused(client, body) -> str:
    answer = client.post(
        "/playground/runs/", body, headers={"Accept": "application/json"}
    )
    assert 400 <= answer.status_code < 500
    return str(answer.json()["error"]["message"])


def test_the_page_fills_in_what_a_preset_says(bob, preset):
    page = bob.get(f"/?preset={preset.id}").content.decode()
    assert re.search(r'name="variable-name"[^>]* required', page)
    assert re.search(r'name="variable-language"[^>]*>\nEnglish<', page)
    assert ">Say hello to {{name}} in {{language|English}}.</textarea>" in page
    assert 'value="0.5"' in page and "Be brief.</textarea>" in page
    assert '<option value="worker/echo" selected>' in page


def test_a_run_without_script_is_made_of_the_variables(bob, site, preset):
    run = started(bob, site, sent(preset, **{"variable-language": "French"}))
    assert run_record(run.team_id, run.id).prompt == "Say hello to Bob in French."
    use = run_view(run).preset
    assert use is not None
    assert (use.preset_id, use.version, use.is_edited) == (preset.id, 1, False)
    shown = bob.get(f"/runs/{run.id}/").content.decode()
    assert (
        f'<a href="/presets/{preset.id}/versions/1/"><bdi>Greet</bdi></a> v1' in shown
    )
    assert "v1, edited" not in shown


@pytest.mark.parametrize(
    ("prompt", "is_edited"),
    [("Say hello to Bob in English.", False), ("Say hello to Bob, please.", True)],
)
def test_a_run_says_whether_its_text_was_edited(bob, site, preset, prompt, is_edited):
    run = started(bob, site, sent(preset, prompt=prompt))
    use = run_view(run).preset
    assert use is not None and use.is_edited is is_edited
    assert run_record(run.team_id, run.id).prompt == prompt
    assert (", edited" in bob.get(f"/runs/{run.id}/").content.decode()) is is_edited


def test_an_older_version_is_used_as_it_was(bob, site, preset, principal):
    preset_update(principal=principal, preset=preset, values={"prompt": "Newer"})
    page = bob.get(f"/?preset={preset.id}&version=1").content.decode()
    assert 'name="preset_version" value="1"' in page
    run = started(bob, site, sent(preset))
    assert run_record(run.team_id, run.id).prompt == "Say hello to Bob in English."


def test_what_is_wrong_with_the_variables_is_said(bob, preset):
    body = sent(preset)
    del body["variable-name"]
    assert "no value is given for 'name'" in refused(bob, body)
    gone = sent(preset) | {"preset": str(uuid.uuid4())}
    more = sent(preset, **{"variable-more": "x"})
    assert "the preset has no variable 'more'" in refused(bob, more)
    assert "has no version 7" in refused(bob, sent(preset, preset_version="7"))
    assert "there is no preset" in refused(bob, gone)


def test_a_run_of_a_preset_that_others_do_not_see_does_not_name_it(bob, site, preset):
    run = started(bob, site, sent(preset))
    vera = member(site.cast.vera).client
    shown = vera.get(f"/runs/{run.id}/").content.decode()
    assert "a preset that was deleted or is not shared, v1" in shown
    assert "Greet" not in shown


def test_presets_are_chosen_by_those_who_may_run(bob, site, preset, principal):
    assert "Greet" in bob.get("/presets/choices/").content.decode()
    fields = f"/presets/{preset.id}/fields/"
    assert 'name="variable-name"' in bob.get(fields).content.decode()
    vera, mallory = (
        member(user).client for user in (site.cast.vera, site.cast.mallory)
    )
    preset_update(principal=principal, preset=preset, values={"is_shared": True})
    assert vera.get("/presets/choices/").status_code == 403
    assert vera.get(fields).status_code == 403
    assert vera.get(f"/?preset={preset.id}").status_code == 200
    assert mallory.get(fields).status_code == 404
    assert mallory.get(f"/?preset={preset.id}").status_code == 404
    assert "Greet" not in mallory.get("/presets/choices/").content.decode()


def test_a_model_that_no_pool_has_any_more_is_named(bob, preset, principal):
    values = {"settings": {"model": "worker/gone"}}
    preset_update(principal=principal, preset=preset, values=values)
    page = bob.get(f"/?preset={preset.id}").content.decode()
    assert "It names the model <bdi>worker/gone</bdi>" in page


def test_what_the_composer_holds_is_offered_as_a_preset(bob):
    held = {
        "prompt": "Sum up {{text}}",
        "system": "Be brief.",
        "tier": "ultra",
        "pool": "default",
        "worker": "worker/echo",
        "temperature": "0.5",
        "max_cost": "0.05",
    }
    form = bob.post("/presets/from-prompt/", held).content.decode()
    assert 'action="/presets/new/"' in form and "Sum up {{text}}</textarea>" in form
    assert '<option value="worker/echo" selected>' in form
    assert 'value="0.5"' in form and 'value="0.05"' in form


def test_a_text_with_braces_that_is_no_template_is_escaped(bob):
    form = bob.post("/presets/from-prompt/", {"prompt": "a {{ b"}).content.decode()
    assert r"a \{{ b</textarea>" in form


def test_a_filled_in_preset_is_offered_with_its_variables(bob, preset):
    body = sent(preset, prompt="Say hello to Bob in English.")
    form = bob.post("/presets/from-prompt/", body).content.decode()
    assert "Say hello to {{name}} in {{language|English}}.</textarea>" in form


def test_hostile_values_are_inert_in_the_composer(bob, principal):
    hostile = '"><script>alert(1)</script>'
    values = {"name": hostile, "prompt": f"{hostile} {{{{a|{hostile}}}}}"}
    preset = preset_create(
        principal=principal, values={**values, "description": hostile}
    )
    for address in (f"/?preset={preset.id}", "/presets/choices/"):
        assert "<script>alert" not in bob.get(address).content.decode()
    fields = bob.get(f"/presets/{preset.id}/fields/").content.decode()
    assert "<script>alert" not in fields


def test_runs_are_listed_by_their_preset(bob, site, preset, principal):
    made = started(bob, site, sent(preset))
    other = started(bob, site, {"prompt": "Hi", "worker": "worker/echo"})
    assert f'"/runs/?preset={preset.id}"' in bob.get(f"/presets/{preset.id}/").text
    page = bob.get(f"/runs/?preset={preset.id}").text
    assert f'<option value="{preset.id}" selected>Greet</option>' in page
    assert str(made.id) in page and str(other.id) not in page
    assert str(other.id) in bob.get("/runs/?preset=bogus").text
    assert "No run matches" in bob.get(f"/runs/?preset={uuid.uuid4()}").text
    preset_update(principal=principal, preset=preset, values={"is_archived": True})
    assert "selected>Greet</option>" in bob.get(f"/runs/?preset={preset.id}").text
    assert "Greet</option>" not in bob.get("/runs/").text


def test_a_preset_that_others_do_not_see_is_no_filter_by_name(bob, site, preset):
    started(bob, site, sent(preset))
    vera = member(site.cast.vera).client
    assert "Greet" not in vera.get("/runs/").text
    page = vera.get(f"/runs/?preset={preset.id}").text
    assert "selected>A deleted or unshared preset</option>" in page
    assert "Greet</option>" not in page
