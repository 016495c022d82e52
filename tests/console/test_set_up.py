"""The wizard: models of a provider, their tests, a pool that plans; the checklist."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db.models.functions import Coalesce

from apps.accounts.models import Role
from apps.audit.models import Entry
from apps.pools.models import Conductor, Credential, Pool, Price, Worker
from tests.conftest import membership
from tests.console.models import SECRET, signed_in, words
from tests.factories import PoolFactory

URL = "/setup/?provider=vllm"
MODELS_URL = "/setup/models/"
TODO = "Steps to your first planned answer"


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


def sent(url: str, *models: str, **changes: Any) -> dict[str, Any]:
    """Return the form with these models marked."""
    return {
        "base_url": url,
        "protocol": "openai",
        "credential_id": "none",
        "max_tokens_field": "max_tokens",
        "models": list(models),
        **changes,
    }


def names(cast):
    """Return how the models of the team are called, the workers' first."""
    return (
        list(Worker.objects.for_team(cast.team.id).values_list("name", flat=True)),
        list(Conductor.objects.for_team(cast.team.id).values_list("name", flat=True)),
    )


def run_tests(cast, client) -> None:
    """Press every button Test of the third page."""
    for worker in Worker.objects.for_team(cast.team.id):
        client.post(f"/workers/{worker.id}/test/", {"from": "setup"})
    for conductor in Conductor.objects.for_team(cast.team.id):
        client.post(f"/conductors/{conductor.id}/test/", {"from": "setup"})


def test_models_are_marked_saved_tested_and_put_to_use(cast, alice, simulator_url):
    models = ("sim-conductor", "sim-atlas", "sim-delta")
    saved = alice.post(URL, sent(simulator_url, *models))
    assert saved.url.startswith(f"{MODELS_URL}?run=1&conductor=")
    assert names(cast) == (["sim-atlas", "sim-delta"], ["sim-conductor"])
    assert Conductor.objects.for_team(cast.team.id).get().mode == "json_schema"
    run_tests(cast, alice)
    page = words(alice.get(MODELS_URL).content.decode())
    assert "All tests passed." in page
    assert "Plan read: 3 steps." in page
    used = alice.post(MODELS_URL)
    assert used.url == "/?sample=1"
    pool = Pool.objects.for_team(cast.team.id).get()
    planners = dict(pool.tiers.values_list("name", "planner"))
    assert planners == {"mini": "conductor", "ultra": "conductor"}
    assert pool.fallback.name == "sim-atlas"


def test_server_that_is_not_well_known_needs_no_field_that_is_not_shown(
    cast, alice, simulator_url
):
    address = "/setup/?provider=other"
    listed = {**sent(simulator_url), "list_models": "1"}
    form = alice.post(address, listed).context["form"]
    hidden = {each.name: each.value() for each in form.hidden_fields()}
    assert hidden["max_tokens_field"] == "max_tokens"
    shown = alice.get(address).context["form"]["max_tokens_field"].value()
    alice.post(address, sent(simulator_url, "sim-delta", max_tokens_field=shown))
    assert names(cast)[0] == ["sim-delta"]


def test_fault_of_a_field_that_is_not_shown_is_told_above(alice, simulator_url):
    wrong = sent(simulator_url, "sim-delta", max_tokens_field="")
    page = words(alice.post(URL, wrong).content.decode())
    assert "Name of the output limit: This field is required." in page


def test_same_models_again_are_not_there_twice(cast, alice, simulator_url):
    for _ in range(2):
        alice.post(URL, sent(simulator_url, "sim-conductor", "sim-atlas"))
    assert names(cast) == (["sim-atlas"], ["sim-conductor"])


def test_failing_worker_is_left_out_of_the_pool(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "fault-401", "sim-conductor", "sim-delta"))
    run_tests(cast, alice)
    page = words(alice.get(MODELS_URL).content.decode())
    assert "The provider refused the key." in page
    alice.post(MODELS_URL)
    pool = Pool.objects.for_team(cast.team.id).get()
    assert [each.name for each in pool.enabled_workers] == ["sim-delta"]


def test_without_any_test_that_passed_no_pool_is_made(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "fault-401"))
    run_tests(cast, alice)
    page = alice.post(MODELS_URL, follow=True).content.decode()
    assert "one that answers prompts" in page
    assert not Pool.objects.for_team(cast.team.id).exists()


def test_another_model_can_plan_and_the_first_stays(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "sim-conductor-prose", "sim-delta"))
    run_tests(cast, alice)
    assert "Its answer is not a plan" in words(alice.get(MODELS_URL).content.decode())
    worker = Worker.objects.for_team(cast.team.id).get(name="sim-delta")
    chosen = alice.post(MODELS_URL, {"worker": str(worker.id)})
    made = Conductor.objects.for_team(cast.team.id).get(model="sim-delta")
    assert chosen.url == f"{MODELS_URL}?run=1&conductor={made.id}"
    assert names(cast)[1] == ["sim-conductor-prose", "sim-delta"]


def test_models_join_the_pool_that_is_there_and_let_it_plan(cast, alice, simulator_url):
    pool = PoolFactory.create(team=cast.team, name="house", conductor=None)
    pool.tiers.update(planner="single_worker")
    pool.tiers.filter(name="ultra").delete()
    alice.post(URL, sent(simulator_url, "sim-conductor", "sim-delta"))
    run_tests(cast, alice)
    alice.post(MODELS_URL)
    pool.refresh_from_db()
    assert pool.conductor is not None
    assert "sim-delta" in [each.name for each in pool.enabled_workers]
    assert dict(pool.tiers.values_list("name", "planner"))["ultra"] == "conductor"


def test_typed_names_are_taken_where_the_provider_lists_none(
    cast, alice, simulator_url
):
    typed = {"more_models": "sim-delta\n\nlab/sim-birch:4b\n"}
    alice.post(URL, sent(simulator_url, **typed))
    assert names(cast)[0] == ["sim-birch-4b", "sim-delta"]


def test_key_is_stored_once_and_never_shown(cast, alice, locked_url):
    data = sent(locked_url, "sim-delta", credential_id="new", secret=SECRET)
    page = alice.post(URL, data, follow=True).content.decode()
    assert SECRET not in page
    key = Credential.objects.for_team(cast.team.id).get()
    assert key.name == key.host
    for entry in Entry.objects.for_team(cast.team.id):
        assert SECRET.encode() not in bytes(entry.canonical)


def test_models_are_listed_with_what_was_typed(alice, locked_url):
    data = sent(locked_url, list_models="1", credential_id="new", secret=SECRET)
    page = alice.post(URL, data).content.decode()
    assert 'name="models" value="sim-delta"' in page
    assert SECRET not in page
    part = alice.post(URL, data, headers={"X-Partial": "true"}).content.decode()
    assert "<html" not in part and 'value="sim-delta"' in part


def test_refused_key_is_told_with_what_to_do(alice, locked_url):
    data = sent(locked_url, list_models="1", credential_id="new", secret="sk-wrong")
    page = words(alice.post(URL, data).content.decode())
    assert "The models could not be listed." in page
    assert "Choose or paste another one." in page
    assert "sk-wrong" not in page


def test_address_outside_of_the_networks_says_who_can_allow_it(alice):
    data = sent("http://10.0.0.1/v1", list_models="1")
    page = words(alice.post(URL, data).content.decode())
    assert "10.0.0.1 is not in an allowed network" in page
    assert "MODEL_NETWORKS" in page


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"models": []}, "Mark at least one model."),
        ({"models": [f"m{n}" for n in range(21)]}, "Mark at most 20 models"),
        ({"credential_id": "new"}, "Paste the key"),
        ({"base_url": "nowhere"}, "Must be an http or https URL"),
    ],
)
def test_fault_is_told_and_what_was_listed_stays(
    cast, alice, simulator_url, changes, why
):
    data = sent(simulator_url, "sim-delta", listed="sim-atlas\r\nsim-delta")
    response = alice.post(URL, {**data, **changes})
    page = words(response.content.decode())
    assert response.status_code == 422
    assert why in page
    assert 'value="sim-atlas"' in response.content.decode()
    assert names(cast) == ([], [])


@pytest.mark.parametrize("role", [Role.MEMBER, Role.VIEWER])
def test_others_cannot_set_up_and_see_no_checklist(cast, role):
    row = membership(cast.team, cast.bob)
    row.role = role
    row.save()
    bob = signed_in(cast.bob)
    for url in ("/setup/", MODELS_URL):
        assert bob.get(url).status_code == 403
    assert TODO not in bob.get("/").content.decode()
    assert TODO not in bob.get("/pools/").content.decode()


def test_conductor_of_another_team_is_not_there(cast, alice):
    pool = PoolFactory.create(team=cast.other_team)
    url = f"{MODELS_URL}?conductor={pool.conductor_id}"
    assert alice.get(url).status_code == 404
    assert alice.post(MODELS_URL, {"worker": str(pool.fallback_id)}).status_code == 404


def abilities(cast, name: str) -> tuple[bool, bool, bool]:
    """Return how a worker's abilities are set: images, tools, continuation."""
    row = Worker.objects.for_team(cast.team.id).get(name=name)
    return row.accepts_images, row.accepts_tools, row.accepts_prefill


def recorded(cast) -> list[dict[str, Any]]:
    """Return what the ledger says of changes of workers."""
    entries = Entry.objects.for_team(cast.team.id).filter(action="worker.updated")
    return [json.loads(bytes(each.canonical))["data"] for each in entries]


def test_first_test_turns_on_what_it_detects_and_off_the_rest(
    cast, alice, simulator_url
):
    alice.post(URL, sent(simulator_url, "sim-delta", "text-only"))
    assert abilities(cast, "text-only") == (False, True, False)
    run_tests(cast, alice)
    assert abilities(cast, "sim-delta") == (True, True, True)
    assert abilities(cast, "text-only") == (False, False, True)
    page = words(alice.get(MODELS_URL).content.decode())
    assert "Images: on. Tools: on. Continuation: on." in page
    assert "Tools: not supported." in page
    assert "Set as detected" not in page
    after = {each["name"]: each["after"] for each in recorded(cast)}
    assert after == {
        "sim-delta": {"accepts_images": True, "accepts_prefill": True},
        "text-only": {"accepts_tools": False, "accepts_prefill": True},
    }


def test_a_later_test_leaves_abilities_to_the_person(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "sim-delta"))
    run_tests(cast, alice)
    worker = Worker.objects.for_team(cast.team.id).get()
    worker.accepts_images = False
    worker.save()
    run_tests(cast, alice)
    assert abilities(cast, "sim-delta") == (False, True, True)
    assert "Set as detected" in alice.get(MODELS_URL).content.decode()
    address = f"/workers/{worker.id}/abilities/"
    assert alice.post(address, {"next": MODELS_URL}).url == MODELS_URL
    assert abilities(cast, "sim-delta") == (True, True, True)
    assert alice.post(address, {"next": "//evil.example/"}).url == "/account/"


def test_a_test_that_fails_changes_no_ability(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "fault-401"))
    run_tests(cast, alice)
    assert abilities(cast, "fault-401") == (False, True, False)


def test_checklist_is_dismissed_where_one_is(alice):
    assert alice.post("/setup/dismiss/", {"next": "/home/"}).url == "/home/"
    assert alice.post("/setup/dismiss/").url == "/"


@pytest.mark.parametrize("url", ["/", "/pools/", "/workers/", "/credentials/"])
def test_checklist_is_shown_until_it_is_dismissed(cast, alice, url):
    assert TODO in alice.get(url).content.decode()
    alice.post("/setup/dismiss/")
    assert TODO not in alice.get(url).content.decode()
    other = membership(cast.team, cast.bob)
    other.role = Role.ADMIN
    other.save()
    assert TODO in signed_in(cast.bob).get(url).content.decode()


def test_checklist_leads_to_the_field_that_lets_ultra_plan(cast, alice):
    pool = PoolFactory.create(team=cast.team)
    pool.tiers.filter(name="ultra").update(planner="single_worker")
    page = alice.get("/").content.decode()
    assert f'href="/pools/{pool.id}/#id_tiers.ultra.planner"' in page
    field = alice.get(f"/pools/{pool.id}/").content.decode()
    assert 'id="id_tiers.ultra.planner"' in field


def priced(cast):
    """Return the prices of the team: model, input and output in micro-dollars."""
    rows = Price.objects.for_team(cast.team.id).annotate(
        model=Coalesce("worker__model", "conductor__model")
    )
    return set(rows.values_list("model", "input_micros", "output_micros"))


def price_form(client, url=MODELS_URL, **typed: str) -> dict[str, str]:
    """Return the form of prices, filled in by model: `sim_delta="1 / 2"`."""
    form = client.get(url).context["prices"]
    sent = {"prices": "1"}
    for gap, fields in form.rows:
        amounts = typed.get(gap.model.replace("-", "_"), " / ").split("/")
        for field, amount in zip(fields, amounts, strict=True):
            sent[field.html_name] = amount.strip()
    return sent


def test_wizard_asks_for_the_prices_that_no_list_knows(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "sim-atlas", "sim-delta", planner="sim-delta"))
    page = words(alice.get(MODELS_URL).content.decode())
    assert "The prices of 2 models are unknown" in page
    assert "once a budget is set every run that may use the model is refused" in page
    form = price_form(alice, sim_delta="0.5 / 1.25", sim_atlas="0 / 0")
    saved = alice.post(MODELS_URL, form)
    made = Conductor.objects.for_team(cast.team.id).get()
    assert saved.url == f"{MODELS_URL}?conductor={made.id}"
    assert priced(cast) == {
        ("sim-atlas", 0, 0),
        ("sim-delta", 500_000, 1_250_000),  # the worker and the conductor of it
    }
    assert Price.objects.for_team(cast.team.id).count() == 3
    assert "is unknown" not in words(alice.get(MODELS_URL).content.decode())


def test_prices_may_be_filled_in_one_by_one(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "sim-atlas", "sim-delta", planner="sim-delta"))
    alice.post(MODELS_URL, price_form(alice, sim_atlas="3 / 4"))
    assert priced(cast) == {("sim-atlas", 3_000_000, 4_000_000)}
    page = words(alice.get(MODELS_URL).content.decode())
    assert "The price of 1 model is unknown" in page


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("1 /", "Write both amounts; 0 if it is free."),
        (" / ", "Write the price of at least one model."),
        ("-1 / 2", "Correct the field marked below."),
        ("much / 2", "Correct the field marked below."),
    ],
)
def test_bad_prices_are_refused_beside_their_field(
    cast, alice, simulator_url, typed, complaint
):
    alice.post(URL, sent(simulator_url, "sim-delta"))
    answer = alice.post(MODELS_URL, price_form(alice, sim_delta=typed))
    assert answer.status_code == 422
    assert complaint in words(answer.content.decode())
    assert priced(cast) == set()


def test_only_who_manages_pools_sets_prices(cast, alice, simulator_url):
    alice.post(URL, sent(simulator_url, "sim-delta"))
    form = price_form(alice, sim_delta="1 / 2")
    assert signed_in(cast.bob).post(MODELS_URL, form).status_code == 403
    assert priced(cast) == set()
