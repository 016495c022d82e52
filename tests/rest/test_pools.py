"""Pools and what they are made of, over REST."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from apps.accounts.models import Scope
from apps.pools.credentials import credential_open
from apps.pools.models import Conductor, Credential, Pool, Worker
from tests.conftest import make_pool
from tests.factories import WorkerFactory
from tests.pools.lists import ACME_URL, keep_list, priced
from tests.rest.conftest import actions, fault, keyed
from tests.rest.things import BASE_URL, make_things

PRICE = {"input_usd": "2", "output_usd": "6.5"}
WORKER = {"name": "strong", "base_url": BASE_URL, "model": "strong-1"}


@pytest.fixture
def things(cast, simulator_url):
    return make_things(cast, simulator_url)


@pytest.fixture
def pool(cast, things):
    return Pool.objects.for_team(cast.team.id).get()


# --- credentials ---------------------------------------------------------------------


def test_a_credential_is_stored_and_never_told(alice, cast):
    body = {"name": "Provider", "base_url": BASE_URL, "secret": "sk-canary-1"}
    answer = alice.post("credentials/", body)
    assert answer.status_code == 201
    assert answer.json()["host"] == "127.0.0.1:9"
    assert "canary" not in answer.content.decode()
    row = Credential.objects.for_team(cast.team.id).get()
    assert credential_open(row, base_url=BASE_URL) == "sk-canary-1"
    assert actions(cast.team)[-1] == "credential.created"


def test_a_credential_is_renamed_and_its_secret_replaced(alice, cast, things):
    place = f"credentials/{things['credential_id']}/"
    body = {"name": "Renamed", "secret": "sk-canary-2"}
    answer = alice.patch(place, body)
    assert answer.json()["name"] == "Renamed"
    assert "canary" not in answer.content.decode()
    assert actions(cast.team)[-1] == "credential.updated"
    fault(alice.patch(place, {"base_url": "https://example.org/v1"}), 400)


def test_a_credential_in_use_stays(alice, cast, things, simulator_url):
    place = f"credentials/{things['credential_id']}/"
    body = {**WORKER, "base_url": simulator_url}
    body["credential_id"] = str(things["credential_id"])
    assert alice.post("workers/", body).status_code == 201
    assert fault(alice.delete(place), 409)["code"] == "conflict"
    worker = Worker.objects.for_team(cast.team.id).get(name="strong")
    assert alice.delete(f"workers/{worker.id}/").status_code == 204
    assert alice.delete(place).status_code == 204


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"secret": ""}, "secret"),
        ({"secret": "a b"}, "secret"),
        ({"secret": 5}, "secret"),
        ({"base_url": "http://10.0.0.1/v1"}, "base_url"),
        ({"base_url": "http://[::ffff:169.254.169.254]/v1"}, "base_url"),
        ({"base_url": "http://0xa.1/v1"}, "base_url"),
        ({"base_url": "file:///etc/passwd"}, "base_url"),
        ({"base_url": "x"}, "base_url"),
        ({"host": "example.org:443"}, "host"),
        ({"sealed": "x"}, "sealed"),
    ],
)
def test_a_bad_credential_is_refused_and_not_repeated(alice, cast, change, field):
    body = {"name": "P", "base_url": BASE_URL, "secret": "sk-canary-3", **change}
    response = alice.post("credentials/", body)
    assert fault(response, 400)["fields"].keys() == {field}
    assert "canary" not in response.content.decode()
    assert not Credential.objects.for_team(cast.team.id).exists()


# --- workers -------------------------------------------------------------------------


def test_a_worker_is_added_with_its_price(alice, cast):
    tags = ["eu", "region:eu"]
    answer = alice.post("workers/", {**WORKER, "price": PRICE, "tags": tags})
    assert answer.status_code == 201
    told = answer.json()
    assert told["price"]["output_usd"] == "6.5"
    assert (told["tags"], told["pools"], told["is_enabled"]) == (tags, [], True)
    assert told["health"]["state"] == "untested"
    assert alice.get(f"workers/{told['id']}/").json() == told
    assert actions(cast.team)[-1] == "worker.created"


def test_list_price_is_told_beside_the_team_s_own(alice, cast, settings):
    keep_list(settings, priced(input_mtok=0.1, output_mtok=8))
    body = {**WORKER, "base_url": ACME_URL, "model": "acme-1", "price": PRICE}
    told = alice.post("workers/", body).json()
    assert told["price"]["input_usd"] == "2"
    as_of = told["list_price"].pop("as_of")
    assert as_of == dt.datetime.now(dt.UTC).date().isoformat()
    assert told["list_price"] == {
        "provider": "Acme",
        "model": "acme-1",
        "input_usd": "0.1",
        "output_usd": "8",
        "cached_input_usd": None,
        "remarks": [],
    }
    assert alice.get("workers/").json()["data"][0]["list_price"]["output_usd"] == "8"


def test_list_price_is_null_where_it_is_unknown(alice, cast, settings):
    keep_list(settings, priced(input_mtok=1, output_mtok=8))
    assert alice.post("workers/", WORKER).json()["list_price"] is None
    at_acme = {"name": "other", "base_url": ACME_URL, "model": "acme-2"}
    assert alice.post("conductors/", at_acme).json()["list_price"] is None


def test_list_price_of_a_conductor_is_for_viewers_too(alice, vera, mallory, settings):
    keep_list(settings, priced(input_mtok=1, output_mtok=8))
    body = {"name": "planner", "base_url": ACME_URL, "model": "acme-1"}
    place = f"conductors/{alice.post('conductors/', body).json()['id']}/"
    assert vera.get(place).json()["list_price"]["input_usd"] == "1"
    assert fault(mallory.get(place), 404)


def test_list_price_cannot_be_written(alice, cast):
    body = {**WORKER, "list_price": {**PRICE, "provider": "x"}}
    assert fault(alice.post("workers/", body), 400)["fields"].keys() == {"list_price"}
    assert not Worker.objects.for_team(cast.team.id).exists()


def test_a_worker_has_a_protocol_and_abilities(alice):
    body = {**WORKER, "protocol": "anthropic", "accepts_images": True}
    told = alice.post("workers/", body).json()
    shown = ("protocol", "accepts_images", "accepts_tools", "accepts_prefill")
    assert [told[name] for name in shown] == ["anthropic", True, True, False]
    place = f"workers/{told['id']}/"
    changed = alice.patch(place, {"accepts_tools": False, "accepts_prefill": True})
    assert [changed.json()[name] for name in shown] == ["anthropic", True, False, True]


def test_a_worker_has_parameters_of_its_own(alice):
    given = {
        "extra_params": ["top_k"],
        "reasoning_effort": "low",
        "thinking_budget_tokens": 2048,
        "extra_body": {"a": 0.5},
    }
    told = alice.post("workers/", {**WORKER, **given}).json()
    assert given.items() <= told.items()
    place = f"workers/{told['id']}/"
    assert alice.patch(place, {"extra_body": {}}).json()["extra_body"] == {}
    refused = fault(alice.patch(place, {"extra_body": {"model": "x"}}), 400)
    assert refused["fields"].keys() == {"extra_body"}


def test_a_worker_is_changed_in_part(alice, cast, things):
    place = f"workers/{things['worker_id']}/"
    before = alice.get(place).json()
    answer = alice.patch(place, {"timeouts": {"idle_s": 7}, "price": PRICE}).json()
    assert answer["timeouts"]["idle_s"] == 7
    changed = {k for k in before if before[k] != answer[k]}
    assert changed == {"timeouts", "price"}
    assert actions(cast.team)[-1] == "worker.updated"
    assert alice.patch(place, {"price": None}).json()["price"] is None


def test_workers_are_listed_in_pages(alice, things):
    first = alice.get("workers/?limit=2").json()
    rest = alice.get(f"workers/?limit=2&cursor={first['next_cursor']}").json()
    names = [worker["name"] for worker in first["data"] + rest["data"]]
    assert (len(first["data"]), names) == (2, sorted(names))
    assert rest["next_cursor"] is None


BAD_WORKERS = [
    ({"protocol": "telepathy"}, "protocol"),
    ({"accepts_images": "yes"}, "accepts_images"),
    ({"accepts_tools": None}, "accepts_tools"),
    ({"name": "a/b"}, "name"),
    ({"name": ""}, "name"),
    ({"base_url": "http://a b/v1"}, "base_url"),
    ({"base_url": "http://user:pass@example.org/v1"}, "base_url"),
    ({"base_url": "http://2130706433.nip/v1\x00"}, "base_url"),
    ({"credential_id": str(uuid.uuid4())}, "credential_id"),
    ({"credential_id": 5}, "credential_id"),
    ({"price": {**PRICE, "input_usd": "-1"}}, "price.input_usd"),
    ({"price": {**PRICE, "input_usd": 1.5}}, "price.input_usd"),
    ({"price": {**PRICE, "input_usd": "1e3"}}, "price.input_usd"),
    ({"price": {**PRICE, "input_usd": "NaN"}}, "price.input_usd"),
    ({"price": {**PRICE, "input_usd": "10001"}}, "price.input_usd"),
    ({"price": {**PRICE, "input_usd": "0.0000001"}}, "price.input_usd"),
    ({"price": {"input_usd": "1"}}, "price.output_usd"),
    ({"price": {**PRICE, "currency": "EUR"}}, "price.currency"),
    ({"price": {**PRICE, "valid_from": "yesterday"}}, "price.valid_from"),
    ({"price": {**PRICE, "valid_from": "0001-01-01"}}, "price.valid_from"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"context_tokens": 10**9}, "context_tokens"),
    ({"timeouts": {"idle_s": 0}}, "timeouts.idle_s"),
    ({"timeouts": {"all_s": 1}}, "timeouts.all_s"),
    ({"timeouts": 5}, "timeouts"),
    ({"tags": ["a b"]}, "tags[0]"),
    ({"tags": ["region:"]}, "tags[0]"),
    ({"tags": ["eu", "a:b:c"]}, "tags[1]"),
    ({"tags": ["Provider:openai"]}, "tags[0]"),
    ({"tags": ["a"] * 21}, "tags"),
    ({"protocol": "smtp"}, "protocol"),
    ({"is_enabled": 1}, "is_enabled"),
    ({"description": "a\x07b"}, "description"),
    ({"last_test": {}}, "last_test"),
    ({"team": "others"}, "team"),
]


@pytest.mark.parametrize(("change", "field"), BAD_WORKERS)
def test_a_bad_worker_is_refused(alice, cast, change, field):
    error = fault(alice.post("workers/", {**WORKER, **change}), 400)
    assert error["fields"].keys() == {field}
    assert not Worker.objects.for_team(cast.team.id).exists()


def test_a_name_that_is_taken_is_refused(alice, cast):
    WorkerFactory.create(team=cast.team, name="strong")
    assert fault(alice.post("workers/", WORKER), 400)["param"] == "name"


def test_another_team_s_credential_cannot_be_used(alice, cast, mallory):
    body = {"name": "Theirs", "base_url": BASE_URL, "secret": "sk-theirs"}
    theirs = mallory.post("credentials/", body).json()["id"]
    error = fault(alice.post("workers/", {**WORKER, "credential_id": theirs}), 400)
    assert error["param"] == "credential_id"


def test_a_worker_of_a_pool_stays(alice, pool):
    worker = pool.fallback
    assert fault(alice.delete(f"workers/{worker.id}/"), 409)["code"] == "conflict"


def test_a_worker_is_tested_for_real(alice, cast, things, pool):
    answer = alice.post(f"workers/{pool.fallback_id}/test/").json()
    assert (answer["ok"], answer["error_code"]) == (True, "")
    told = alice.get(f"workers/{pool.fallback_id}/").json()
    assert told["last_test"] == answer
    assert told["health"]["state"] == "healthy"
    assert actions(cast.team)[-1] == "worker.tested"


def test_a_test_tells_what_a_worker_can_do(alice, simulator_url):
    body = {**WORKER, "base_url": simulator_url, "model": "sim-delta"}
    place = f"workers/{alice.post('workers/', body).json()['id']}/"
    names = ("accepts_images", "accepts_tools", "accepts_prefill")
    told = alice.post(f"{place}test/").json()
    assert told["abilities"] == dict.fromkeys(names, True)
    assert alice.get(place).json()["last_test"] == told


def test_a_worker_that_does_not_answer_says_why(alice, cast):
    worker = WorkerFactory.create(team=cast.team)
    answer = alice.post(f"workers/{worker.id}/test/")
    assert answer.status_code == 200
    assert answer.json()["ok"] is False
    assert answer.json()["message"]


def test_a_provider_is_asked_in_its_protocol(alice, simulator_url):
    body = {
        "base_url": simulator_url.replace("/v1", "/v1beta"),
        "protocol": "gemini",
    }
    assert "sim-delta" in alice.post("workers/models/", body).json()["models"]


def test_a_provider_is_asked_for_its_models(alice, cast, simulator_url):
    answer = alice.post("workers/models/", {"base_url": simulator_url})
    assert "sim-delta" in answer.json()["models"]


@pytest.mark.parametrize(
    ("url", "status"), [(BASE_URL, 422), ("http://10.0.0.1/v1", 400)]
)
def test_a_provider_that_cannot_be_asked_is_told(alice, cast, url, status):
    fault(alice.post("workers/models/", {"base_url": url}), status)


# --- conductors ----------------------------------------------------------------------


def test_a_conductor_is_added_changed_tested_and_deleted(alice, cast, simulator_url):
    body = {**WORKER, "name": "planner", "base_url": simulator_url}
    answer = alice.post("conductors/", {**body, "temperature": "0.70"})
    assert answer.status_code == 201
    told = answer.json()
    assert (told["temperature"], told["mode"]) == ("0.7", "json_schema")
    assert (told["protocol"], told["context_tokens"]) == ("openai", None)
    place = f"conductors/{told['id']}/"
    changed = alice.patch(place, {"mode": "lists", "model": "sim-conductor"}).json()
    assert changed["mode"] == "lists"
    assert alice.post(f"{place}test/").json()["ok"] is True
    assert alice.delete(place).status_code == 204
    assert actions(cast.team)[-4:] == [
        "conductor.created",
        "conductor.updated",
        "conductor.tested",
        "conductor.deleted",
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": "3"}, "temperature"),
        ({"temperature": 0.7}, "temperature"),
        ({"mode": "poems"}, "mode"),
        ({"context_tokens": 0}, "context_tokens"),
        ({"tags": []}, "tags"),
    ],
)
def test_a_bad_conductor_is_refused(alice, cast, change, field):
    error = fault(alice.post("conductors/", {**WORKER, **change}), 400)
    assert error["fields"].keys() == {field}
    assert not Conductor.objects.for_team(cast.team.id).exists()


def test_a_conductor_of_a_pool_stays(alice, things):
    fault(alice.delete(f"conductors/{things['conductor_id']}/"), 409)


# --- pools ---------------------------------------------------------------------------


def test_a_pool_is_made_of_workers(alice, cast):
    ids = [str(WorkerFactory.create(team=cast.team).id) for _ in range(2)]
    body = {"name": "new", "worker_ids": ids, "fallback_id": ids[1]}
    answer = alice.post("pools/", body)
    assert answer.status_code == 201
    told = answer.json()
    assert (told["is_default"], told["worker_ids"]) == (True, ids)
    assert answer["ETag"] == f'"{told["version"]}"'
    assert "pool.created" in actions(cast.team)


def test_a_pool_says_who_takes_over_and_how_answers_go_out(alice, pool):
    place = f"pools/{pool.id}/"
    last = alice.get(place).json()["worker_ids"][-1]
    tier = {"delivery": "verified", "is_hedged": True}
    body = {"no_substitute_ids": [last], "tiers": {"ultra": tier}}
    told = alice.patch(place, body, if_match="*").json()
    assert told["no_substitute_ids"] == [last]
    assert tier.items() <= told["tiers"]["ultra"].items()
    assert told["tiers"]["mini"]["delivery"] == "live"


def test_a_pool_is_changed_by_who_knows_its_version(alice, cast, pool):
    place = f"pools/{pool.id}/"
    tag = alice.get(place)["ETag"]
    body = {"tiers": {"ultra": {"max_cost_usd": "0.5", "max_steps": 3}}}
    answer = alice.patch(place, body, if_match=tag)
    assert answer.status_code == 200
    tier = answer.json()["tiers"]["ultra"]
    assert (tier["max_cost_usd"], tier["max_steps"]) == ("0.5", 3)
    assert answer["ETag"] != tag
    assert "pool.updated" in actions(cast.team)
    error = fault(alice.patch(place, body, if_match=tag), 412)
    assert error["code"] == "version_conflict"


def test_a_change_of_any_version_is_possible_if_asked_for(alice, pool):
    answer = alice.patch(f"pools/{pool.id}/", {"name": "other"}, if_match="*")
    assert answer.json()["name"] == "other"


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_change_without_a_version_is_refused(alice, pool, method):
    response = alice.call(method, f"pools/{pool.id}/", {"name": "x"})
    assert fault(response, 428)["code"] == "precondition_required"


@pytest.mark.parametrize(
    "tag", ["3", 'W/"1"', '"1", "2"', '"x"', '"01"', '"' + "9" * 30 + '"']
)
def test_a_strange_version_is_refused(alice, pool, tag):
    response = alice.patch(f"pools/{pool.id}/", {"name": "x"}, if_match=tag)
    assert fault(response, 400)["param"] == "If-Match"


def test_a_pool_is_deleted_by_who_knows_its_version(alice, cast, pool):
    place = f"pools/{pool.id}/"
    fault(alice.delete(place, if_match='"77"'), 412)
    tag = alice.get(place)["ETag"]
    assert alice.delete(place, if_match=tag).status_code == 204
    assert actions(cast.team)[-1] == "pool.deleted"
    fault(alice.get(place), 404)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"worker_ids": []}, "worker_ids"),
        ({"worker_ids": "all"}, "worker_ids"),
        ({"worker_ids": [1]}, "worker_ids[0]"),
        ({"fallback_id": str(uuid.uuid4())}, "fallback_id"),
        ({"conductor_id": str(uuid.uuid4())}, "conductor_id"),
        ({"name": "a b"}, "name"),
        ({"tiers": {"maxi": {}}}, "tiers.maxi"),
        ({"tiers": {"ultra": {"max_steps": 0}}}, "tiers.ultra.max_steps"),
        ({"tiers": {"ultra": {"max_steps": 51}}}, "tiers.ultra.max_steps"),
        ({"tiers": {"ultra": {"max_cost_usd": "0"}}}, "tiers.ultra.max_cost_usd"),
        ({"tiers": {"ultra": {"max_cost_usd": 1}}}, "tiers.ultra.max_cost_usd"),
        ({"tiers": {"ultra": {"color": "red"}}}, "tiers.ultra.color"),
        ({"tiers": {"ultra": {"delivery": "later"}}}, "tiers.ultra.delivery"),
        ({"tiers": {"ultra": {"is_hedged": 1}}}, "tiers.ultra.is_hedged"),
        ({"tiers": {"mini": None, "ultra": None}}, "tiers"),
        ({"no_substitute_ids": [str(uuid.uuid4())]}, "no_substitute_ids[0]"),
        ({"no_substitute_ids": None}, "no_substitute_ids"),
        ({"version": 9}, "version"),
        ({"is_default": False}, "is_default"),
    ],
)
def test_a_bad_change_of_a_pool_is_refused(alice, pool, change, field):
    place = f"pools/{pool.id}/"
    before = alice.get(place).json()
    error = fault(alice.patch(place, change, if_match="*"), 400)
    assert field in error["fields"]
    assert alice.get(place).json() == before


def test_another_team_s_worker_cannot_be_put_into_a_pool(alice, cast, pool):
    theirs = str(WorkerFactory.create(team=cast.other_team).id)
    body = {"worker_ids": [theirs], "fallback_id": theirs}
    error = fault(alice.patch(f"pools/{pool.id}/", body, if_match="*"), 400)
    assert "worker_ids[0]" in error["fields"]


def test_what_changed_between_versions_is_told(alice, pool):
    place = f"pools/{pool.id}/"
    older = alice.get(place).json()["version"]
    body = {"tiers": {"ultra": {"max_steps": 3}}}
    newer = alice.patch(place, body, if_match="*").json()["version"]
    listed = alice.get(f"{place}versions/").json()["data"]
    assert [row["version"] for row in listed] == [newer, older]
    assert listed[0]["actor_name"] == "Alice"
    told = alice.get(f"{place}changes/?older={older}&newer={newer}").json()
    assert told["changes"] == [
        {"path": "tiers.ultra.max_steps", "before": 5, "after": 3}
    ]
    document = alice.get(f"{place}versions/{newer}/").json()["document"]
    assert document["tiers"]["ultra"]["max_steps"] == 3


@pytest.mark.parametrize("version", ["0", "77", "9" * 30])
def test_a_version_that_never_was_is_not_found(alice, pool, version):
    fault(alice.get(f"pools/{pool.id}/versions/{version}/"), 404)


@pytest.mark.parametrize("query", ["", "older=1", "older=x&newer=1", "older=0&newer=1"])
def test_versions_to_compare_must_be_named(alice, pool, query):
    fault(alice.get(f"pools/{pool.id}/changes/?{query}"), 400)


def test_providers_are_listed(vera):
    listed = vera.get("providers/").json()["data"]
    protocols = {provider["id"]: provider["protocol"] for provider in listed}
    names = ("mistral", "anthropic", "gemini")
    assert [protocols[name] for name in names] == ["openai", "anthropic", "gemini"]


def test_a_key_with_the_scope_manages_pools_under_its_own_name(cast):
    make_pool(cast.team, BASE_URL)
    caller = keyed(cast.team, Scope.POOLS_WRITE, name="Terraform")
    assert caller.post("workers/", WORKER).status_code == 201
    assert actions(cast.team)[-1] == "worker.created"
