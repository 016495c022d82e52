"""Pages of presets: created, changed, compared, restored, shared, copied, deleted."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import Role, Team
from apps.console.presets import differences, rows
from apps.console.presets.differences import text_pieces
from apps.console.presets.views import VERSIONS_PER_PAGE
from apps.presets.inputs import PresetContent
from apps.presets.models import Preset, PresetVersion
from apps.presets.selectors import content_of
from tests.factories import MembershipFactory
from tests.rest.conftest import actions

TEXTS = {"name": "Greet", "description": "Says hello", "prompt": "Hello {{name}}!"}


@pytest.fixture
def team(cast):
    return cast.team


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def alice(cast):
    return browser(cast.alice)


@pytest.fixture
def bob(cast):
    return browser(cast.bob)


@pytest.fixture
def vera(cast):
    return browser(cast.vera)


@pytest.fixture
def mallory(cast):
    return browser(cast.mallory)


def made(client: Client, team: Team, **values: str) -> Preset:
    answer = client.post("/presets/new/", {**TEXTS, **values})
    assert answer.status_code == 302, answer.content
    return Preset.objects.for_team(team.id).order_by("-created_at")[0]


def at(preset: Preset, rest: str = "") -> str:
    return f"/presets/{preset.id}/{rest}"


def texts(preset: Preset) -> list[str]:
    versions = preset.versions.order_by("number")
    return [content_of(each).prompt for each in versions]


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def test_a_team_without_presets_is_led_to_the_first_one(bob, vera):
    assert 'href="/presets/new/"' in page(bob, "/presets/")
    empty = page(vera, "/presets/")
    assert "No presets yet" in empty and 'href="/presets/new/"' not in empty


def test_a_preset_is_created_and_shown(bob, team):
    preset = made(bob, team, **{"settings.temperature": "0.2", "system": "Be brief."})
    shown = page(bob, at(preset))
    assert "<mark>name</mark>" in shown and "must be given" in shown
    assert "Be brief." in shown and "<bdi>0.2</bdi>" in shown
    assert f'href="/?preset={preset.id}"' in shown
    assert actions(team)[-1] == "preset.created"


def test_every_setting_is_kept_and_offered_again(bob, team):
    settings = {
        "settings.model": "",
        "settings.temperature": "0",
        "settings.max_steps": "3",
        "settings.max_cost_micros": "0.05",
        "settings.max_time_s": "60",
        "settings.data_class": "internal",
    }
    preset = made(bob, team, **settings)
    content = content_of(preset.versions.get())
    assert content.settings.max_cost_micros == 50_000
    assert content.settings.temperature == 0
    form = page(bob, at(preset, "edit/"))
    for value in ('value="0.05"', 'value="60"', '"internal" selected', 'value="0.0"'):
        assert value in form
    bob.post(at(preset, "edit/"), {**TEXTS, **settings})
    assert preset.versions.count() == 1


def test_other_texts_make_a_version_and_another_name_does_not(bob, team):
    preset = made(bob, team)
    bob.post(at(preset, "edit/"), {**TEXTS, "name": "Welcome"})
    assert preset.versions.count() == 1
    bob.post(at(preset, "edit/"), {**TEXTS, "prompt": "Hi {{name}}!"})
    assert texts(preset) == ["Hello {{name}}!", "Hi {{name}}!"]
    assert actions(team)[-3:] == [
        "preset.updated",
        "preset.updated",
        "preset.version_created",
    ]


def test_a_form_replaces_no_version_that_it_does_not_know(alice, bob, team):
    preset = made(bob, team, is_shared="on")
    form = page(alice, at(preset, "edit/"))
    assert '<input type="hidden" name="version" value="1"' in form
    bob.post(at(preset, "edit/"), {**TEXTS, "prompt": "Two", "version": "1"})
    mine = {**TEXTS, "name": "Late", "prompt": "Three", "version": "1"}
    late = alice.post(at(preset, "edit/"), mine)
    shown = late.content.decode()
    assert late.status_code == 422
    assert "Version 2 was saved meanwhile, by Bob" in shown
    assert ">\nThree</textarea>" in shown and at(preset, "versions/2/") in shown
    assert '<input type="hidden" name="version" value="2"' in shown
    assert texts(preset) == ["Hello {{name}}!", "Two"]
    preset.refresh_from_db()
    assert preset.name == "Greet"
    alice.post(at(preset, "edit/"), {**mine, "version": "2"})
    assert texts(preset) == ["Hello {{name}}!", "Two", "Three"]


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("", "This field is required."),
        ("Hello {{name", "Line 1: a variable is not closed"),
        ("{{two words}}", "is no name of a variable"),
    ],
)
def test_a_bad_template_is_refused_beside_its_field(bob, team, prompt, why):
    answer = bob.post("/presets/new/", {**TEXTS, "prompt": prompt})
    assert answer.status_code == 422
    assert why in answer.content.decode()
    assert not Preset.objects.for_team(team.id).exists()


def test_versions_are_compared_by_word_and_in_words(bob, team):
    preset = made(bob, team)
    changed = {**TEXTS, "prompt": "Good day {{name}}!", "settings.max_steps": "2"}
    bob.post(at(preset, "edit/"), changed)
    shown = page(bob, at(preset, "versions/2/"))
    assert "<del>Hello </del>" in shown and "<ins>Good day </ins>" in shown
    assert "Max steps: <del><bdi>not set</bdi></del> → <ins><bdi>2</bdi></ins>" in shown
    assert "prompt, settings changed" in page(bob, at(preset))
    assert bob.get(at(preset, "versions/3/")).status_code == 404


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("a b", "a b", []),
        ("a b", "a c", ["same", "removed", "added"]),
        ("a b c", "b ", ["removed", "same", "removed"]),
        ("", "a", ["added"]),
        ("a\n" * 6_000, "b\n" * 6_000, ["removed", "added"]),
        ("a b " * 3_000 + "\nz", "b a " * 3_000 + "\nz", ["removed", "added", "same"]),
        ("a " * 60_000 + "\nb", "b\n" + "a " * 60_000 + "\nb", ["added", "same"]),
    ],
)
def test_pieces_make_up_both_texts(before, after, kinds):
    pieces = text_pieces(before, after)
    assert [each.kind for each in pieces] == kinds
    if pieces:
        assert "".join(p.text for p in pieces if p.kind != "added") == before
        assert "".join(p.text for p in pieces if p.kind != "removed") == after


def test_the_list_of_versions_compares_no_texts_by_word(bob, team, monkeypatch):
    preset = made(bob, team)
    bob.post(at(preset, "edit/"), {**TEXTS, "prompt": "Hi", "system": "Be brief."})
    monkeypatch.setattr(
        differences, "places_in_common", lambda *_: pytest.fail("texts were compared")
    )
    assert "prompt, system prompt changed" in page(bob, at(preset))


def test_the_list_of_versions_opens_the_texts_of_one_page(bob, team, monkeypatch):
    preset = made(bob, team)
    for number in range(2, VERSIONS_PER_PAGE + 4):
        bob.post(at(preset, "edit/"), {**TEXTS, "prompt": f"Hello {number}"})
    opened: list[int] = []

    def noted(version: PresetVersion) -> PresetContent:
        opened.append(version.number)
        return content_of(version)

    monkeypatch.setattr(rows, "content_of", noted)
    first = bob.get(at(preset)).content.decode()
    assert len(opened) == VERSIONS_PER_PAGE + 2  # and what it says, and the one before
    assert "Version 4</a>" in first and "Version 3</a>" not in first
    assert "Page 1 of 2" in first
    opened.clear()
    second = bob.get(at(preset, "?page=2")).content.decode()
    assert sorted(opened) == [1, 2, 3, VERSIONS_PER_PAGE + 3]
    assert "Version 1</a>" in second and "the first one" in second


def test_an_older_version_is_restored_as_a_new_one(bob, team):
    preset = made(bob, team)
    bob.post(at(preset, "edit/"), {**TEXTS, "prompt": "Hi"})
    bob.post(at(preset, "versions/1/restore/"))
    assert texts(preset) == ["Hello {{name}}!", "Hi", "Hello {{name}}!"]
    assert "version 1 again" in page(bob, at(preset))
    again = bob.post(at(preset, "versions/1/restore/"), follow=True)
    assert "says what the newest version says" in again.content.decode()
    assert preset.versions.count() == 3


def test_what_is_not_shared_is_its_owner_s_alone(alice, bob, vera, mallory, team):
    preset = made(bob, team)
    for other in (alice, vera, mallory):
        assert other.get(at(preset)).status_code == 404
        assert "Greet" not in page(other, "/presets/")
    bob.post(at(preset, "share/"), {"share": "yes"})
    for other in (alice, vera):
        assert "Greet" in page(other, "/presets/")
        assert other.get(at(preset)).status_code == 200
    assert mallory.get(at(preset)).status_code == 404
    bob.post(at(preset, "share/"), {"share": "no"})
    assert vera.get(at(preset)).status_code == 404
    assert actions(team)[-2:] == ["preset.shared", "preset.unshared"]


def test_owner_and_admins_change_a_shared_preset_and_others_copy_it(
    alice, bob, vera, team
):
    preset = made(alice, team, is_shared="on")
    assert at(preset, "edit/") not in page(bob, at(preset))
    for rest in ("edit/", "share/", "archive/", "delete/", "versions/1/restore/"):
        assert bob.post(at(preset, rest)).status_code == 403, rest
    bob.post(at(preset, "copy/"))
    copied = Preset.objects.for_team(team.id).get(owner_name="Bob")
    assert (copied.name, copied.is_shared) == ("Greet (copy)", False)
    assert texts(copied) == texts(preset)
    assert vera.post(at(preset, "copy/")).status_code == 403
    mine = made(bob, team, is_shared="on")
    alice.post(at(mine, "edit/"), {**TEXTS, "prompt": "Better"})
    assert texts(mine)[-1] == "Better"


def test_an_admin_who_stops_sharing_is_led_to_the_list(alice, bob, team):
    preset = made(bob, team, is_shared="on")
    answer = alice.post(at(preset, "share/"), {"share": "no"}, follow=True)
    assert answer.redirect_chain == [("/presets/", 302)]
    words = "Greet is no longer shared. Only its owner, Bob, sees it now."
    assert words in answer.content.decode()
    own = made(alice, team, is_shared="on")
    answer = alice.post(at(own, "share/"), {"share": "no"})
    assert answer["Location"] == at(own)


def test_a_viewer_sees_shared_presets_and_may_do_nothing(alice, vera, team):
    preset = made(alice, team, is_shared="on")
    shown = page(vera, at(preset))
    for way in ('"/?preset=', "copy/", "edit/", "delete/"):
        assert way not in shown
    assert vera.get("/presets/new/").status_code == 403
    assert vera.post("/presets/from-prompt/").status_code == 403


def test_presets_of_a_member_who_left_are_seen_by_admins_alone(alice, bob, cast):
    member = MembershipFactory.create(team=cast.team, role=Role.MEMBER)
    preset = made(browser(member.user), cast.team)
    assert alice.get(at(preset)).status_code == 404
    member.delete()
    assert alice.get(at(preset)).status_code == 200
    assert bob.get(at(preset)).status_code == 404


def test_an_archived_preset_is_listed_apart_and_cannot_be_used(bob, team):
    preset = made(bob, team)
    bob.post(at(preset, "archive/"), {"archive": "yes"})
    assert "Says hello" not in page(bob, "/presets/?show=own")
    assert "Says hello" in page(bob, "/presets/?show=archived")
    shown = page(bob, at(preset))
    assert "Archived." in shown and '"/?preset=' not in shown
    bob.post(at(preset, "archive/"), {"archive": "no"})
    assert "Greet" in page(bob, "/presets/")


def test_a_preset_is_deleted_after_a_question(bob, team):
    preset = made(bob, team)
    assert "Delete the preset “Greet”?" in page(bob, at(preset, "delete/"))
    bob.post(at(preset, "delete/"))
    assert not Preset.objects.for_team(team.id).exists()
    assert bob.get(at(preset)).status_code == 404
    assert actions(team)[-1] == "preset.deleted"


@pytest.mark.parametrize(
    ("query", "is_found"),
    [("greet", True), ("HELLO bob", True), ("hello nobody", False), ("<b>", False)],
)
def test_the_list_is_searched_by_name_description_and_owner(bob, team, query, is_found):
    made(bob, team)
    shown = page(bob, f"/presets/?query={query}")
    assert ("Says hello" in shown) == is_found
    assert ("No preset matches" in shown) != is_found


def test_the_list_takes_no_more_queries_with_more_presets(bob, team, recorded_queries):
    made(bob, team)
    page(bob, "/presets/")
    for _ in range(5):
        made(bob, team)
    with recorded_queries():
        assert page(bob, "/presets/").count("Says hello") == 6


def test_hostile_texts_are_inert_on_every_page(bob, team):
    hostile = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
    values = {"name": "x<b>", "description": hostile, "system": hostile}
    preset = made(bob, team, prompt=f"{hostile} {{{{a|{hostile}}}}}", **values)
    bob.post(at(preset, "edit/"), {**TEXTS, "prompt": f"{hostile} again"})
    for rest in ("", "edit/", "versions/1/", "versions/2/", "delete/"):
        shown = page(bob, at(preset, rest))
        assert "<script>alert" not in shown and "<img src=x" not in shown
    assert "<script>alert" not in page(bob, "/presets/")


def test_nothing_of_its_texts_is_in_the_clear_in_the_database(bob, team):
    preset = made(bob, team, prompt="CANARY {{name}}", system="CANARY")
    bob.post(at(preset, "edit/"), {**TEXTS, "description": "CANARY"})
    rows = [*Preset.objects.for_team(team.id).values(), *preset.versions.values()]
    assert b"CANARY" not in repr(rows).encode()
