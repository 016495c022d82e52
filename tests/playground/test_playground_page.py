"""The playground's page and starting a run."""

import uuid

import pytest
from django.utils.html import escape

from apps.accounts.models import Role
from apps.conversations import services
from apps.conversations.models import Conversation
from apps.playground.samples import samples_shown
from apps.runs.types import RunOrder
from tests.factories import MembershipFactory, PoolFactory
from tests.playground import stories
from tests.playground.conftest import record_run, signed_in

CREATE = "/playground/runs/"
JSON = {"Accept": "application/json"}


@pytest.fixture
def orders(monkeypatch) -> list[RunOrder]:
    """Orders that reach the run service, which answers as if they had begun."""
    taken: list[RunOrder] = []

    def submit(order: RunOrder, run_id: uuid.UUID) -> uuid.UUID:
        taken.append(order)
        return run_id

    monkeypatch.setattr(services, "run_start_blocking", submit)
    return taken


def test_anonymous_signs_in_first(client, db):
    assert client.get("/")["Location"].startswith("/accounts/login/")


def test_member_can_run(bob, team):
    PoolFactory.create(team=team)
    page = bob.get("/").content.decode()
    assert 'id="start">' in page


def test_viewer_reads_why_they_cannot_run(vera, team):
    PoolFactory.create(team=team)
    page = vera.get("/").content.decode()
    assert 'id="start" disabled' in page
    assert "Your role may read runs, not start them" in page


def test_team_without_a_pool_is_told_so(bob):
    assert "This team has no pool yet" in bob.get("/").content.decode()


def test_person_without_a_team_is_told_so(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("new@example.org"))
    response = client.get("/", follow=True)
    assert response.redirect_chain == [("/teams/new/", 302)]
    assert b"You are in no team yet" in response.content


def test_sample_fills_the_prompt_without_a_script(bob):
    page = bob.get("/?sample=2").content.decode()
    assert (
        f">{escape(samples_shown(is_simulated=False, found=None)[1].prompt)}</textarea>"
        in page
    )


@pytest.mark.parametrize("number", ["0", "99", "x", ""])
def test_unknown_sample_leaves_the_prompt_empty(bob, number):
    page = bob.get(f"/?sample={number}").content.decode()
    assert "autofocus></textarea>" in page


@pytest.mark.parametrize(("tags", "is_shown"), [(["simulated"], True), ([], False)])
def test_pool_of_simulated_workers_is_labelled(bob, team, tags, is_shown):
    pool = PoolFactory.create(team=team)
    pool.workers.update(tags=tags)
    assert ("Simulated pool." in bob.get("/").content.decode()) is is_shown


@pytest.mark.parametrize("has_ultra", [True, False])
def test_only_tiers_of_the_pool_can_be_chosen(bob, team, has_ultra):
    pool = PoolFactory.create(team=team)
    if not has_ultra:
        pool.tiers.filter(name="ultra").delete()
    page = bob.get("/").content.decode()
    assert ('value="ultra" form="composer" checked>' in page) is has_ultra
    assert ('value="mini" form="composer" checked>' in page) is not has_ultra
    assert ('id="no-ultra" hidden' in page) is has_ultra


def test_run_in_the_address_is_shown_in_place(bob, run):
    page = bob.get(f"/?run={run.id}").content.decode()
    assert f'data-run-id="{run.id}"' in page


def test_run_of_another_team_in_the_address_is_404(mallory, run):
    assert mallory.get(f"/?run={run.id}").status_code == 404


def test_rerun_fills_the_prompt_only(bob, run):
    page = bob.get(f"/?from={run.id}").content.decode()
    assert stories.PROMPT in page
    assert "data-run-id" not in page


def test_script_gets_the_new_run_as_json(bob, orders):
    response = bob.post(CREATE, {"prompt": "Hi"}, headers=JSON)
    assert response.status_code == 201
    conversation = Conversation.objects.across_teams().get()
    assert response.json()["url"] == f"/conversations/{conversation.id}/#now"
    assert conversation.shown is not None
    assert response.json()["id"] == str(conversation.shown.run_id)


def test_plain_form_is_redirected_to_the_conversation(bob, orders):
    response = bob.post(CREATE, {"prompt": "Hi"})
    conversation = Conversation.objects.across_teams().get()
    assert response["Location"] == f"/conversations/{conversation.id}/#now"


def test_order_names_who_asks_and_from_where(bob, team, orders):
    bob.post(CREATE, {"prompt": "Hi", "tier": "mini"})
    (order,) = orders
    assert (order.team_id, order.source) == (team.id, "playground")
    assert order.model == "conductor-mini"
    assert order.user_id is not None


def test_direct_worker_becomes_the_model(bob, team, orders):
    pool = PoolFactory.create(team=team)
    page = bob.get("/").content.decode()
    model = f"worker/{pool.fallback.name}"
    assert f'<option value="{model}">{pool.fallback.name}</option>' in page
    bob.post(CREATE, {"prompt": "Hi", "worker": model})
    assert orders[0].model == model


def test_worker_of_another_pool_is_asked_through_its_own_pool(bob, team, orders):
    PoolFactory.create(team=team)
    names = ("delta", "echo")
    other = PoolFactory.create(
        team=team, name="research", is_default=False, workers=names
    )
    page = bob.get("/").content.decode()
    model = f"research/worker/{other.fallback.name}"
    assert f'<option value="{model}">{other.fallback.name}</option>' in page
    bob.post(CREATE, {"prompt": "Hi", "worker": model})
    assert orders[0].model == model


@pytest.mark.parametrize("prompt", ["", "  \n "])
def test_blank_prompt_is_refused(bob, orders, prompt):
    response = bob.post(CREATE, {"prompt": prompt}, headers=JSON)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "prompt"


def test_too_long_prompt_is_refused(bob, orders, settings):
    settings.MAX_PROMPT_BYTES = 1_000_000
    response = bob.post(CREATE, {"prompt": "é" * 540_000}, headers=JSON)
    assert response.status_code == 400
    message = response.json()["error"]["message"]
    assert message == "The prompt is too long: 1.08 MB (limit 1 MB)."
    assert orders == []


def test_viewer_cannot_start_a_run(vera, orders):
    assert vera.post(CREATE, {"prompt": "Hi"}, headers=JSON).status_code == 403
    assert orders == []


def test_start_needs_a_post(bob):
    assert bob.get(CREATE).status_code == 405


def test_member_of_two_teams_can_change_between_them(team, client):
    first = MembershipFactory.create(team=team, role=Role.MEMBER)
    second = MembershipFactory.create(user=first.user, role=Role.MEMBER)
    client.force_login(first.user)
    theirs = record_run(second.team, stories.finished())
    client.post("/team/", {"team": str(second.team_id)})
    assert client.get(f"/runs/{theirs.id}/").status_code == 200


@pytest.mark.parametrize("team_id", ["no-id", str(uuid.UUID(int=1))])
def test_no_other_team_can_be_chosen(bob, team_id):
    assert bob.post("/team/", {"team": team_id}).status_code in {400, 404}


def test_removed_member_loses_the_chosen_team(team):
    client = signed_in(team, Role.MEMBER)
    client.post("/team/", {"team": str(team.id)})
    team.memberships.all().delete()
    assert client.get("/runs/")["Location"] == "/teams/new/"
