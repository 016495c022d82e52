"""The pages about workers: choosing a provider, adding, changing, testing, deleting."""

import re
import uuid

import pytest

from apps.audit.models import Entry
from apps.pools.models import Credential, Pool, Worker
from tests.console.models import SECRET, signed_in, words, worker_input
from tests.factories import PoolFactory, PriceFactory, WorkerFactory

NEW = "/workers/new/"


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.fixture
def worker(cast):
    return WorkerFactory.create(team=cast.team, name="steady", model="big-model")


def the_worker(cast):
    return Worker.objects.for_team(cast.team.id).get()


def test_team_without_workers_is_told_what_to_do_first(alice):
    page = alice.get("/workers/").content.decode()
    assert "Add your first worker" in page
    assert f'href="{NEW}"' in page


def test_list_shows_health_price_context_and_tags(cast, alice, worker):
    worker.tags, worker.context_tokens = ["eu"], 128_000
    worker.save()
    PriceFactory.create(worker=worker)
    text = words(alice.get("/workers/").content.decode())
    for shown in ("steady", "big-model", "Untested", "$1 in · $2 out", "128,000", "eu"):
        assert shown in text


def test_the_form_shows_the_tag_of_the_provider(alice, worker):
    worker.base_url = "https://api.groq.com/openai/v1"
    worker.save()
    shown = words(alice.get(f"/workers/{worker.id}/").content.decode())
    assert "By its address it also has the tag provider:groq" in shown
    assert "the tag of its provider, like" in words(
        alice.get(NEW + "?provider=groq").content.decode()
    )


def test_unknown_price_is_not_shown_as_free(alice, worker):
    assert "unknown" in words(alice.get("/workers/").content.decode())


def test_providers_are_offered_before_the_form(alice):
    page = alice.get(NEW).content.decode()
    assert 'href="?provider=openai"' in page
    assert 'href="?provider=other"' in page


def test_provider_fills_in_the_address_and_asks_for_a_key(alice):
    page = alice.get(f"{NEW}?provider=openai").content.decode()
    assert 'value="https://api.openai.com/v1"' in page
    assert '<option value="new" selected>' in page


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_provider_knows_the_protocol(alice, provider):
    page = alice.get(f"{NEW}?provider={provider}").content.decode()
    assert f'<option value="{provider}" selected>' in page


def test_new_worker_takes_tools_unless_said(alice):
    page = alice.get(f"{NEW}?provider=other").content.decode()
    boxes = dict(re.findall(r'name="(accepts_\w+)"([^>]*)>', page))
    checked = [name for name, rest in boxes.items() if "checked" in rest]
    assert (len(boxes), checked) == (3, ["accepts_tools"])


def test_worker_has_a_protocol_and_abilities(cast, alice):
    sent = worker_input(protocol="anthropic", accepts_images="on", accepts_prefill="on")
    del sent["accepts_tools"]
    assert alice.post(NEW, sent).status_code == 302
    worker = the_worker(cast)
    assert worker.protocol == "anthropic"
    assert (worker.accepts_images, worker.accepts_prefill) == (True, True)
    assert not worker.accepts_tools
    text = words(alice.get("/workers/").content.decode())
    assert "small-model · Anthropic" in text
    assert "Takes images, no tools, continues answers" in text


def test_worker_has_parameters_of_its_own(cast, alice):
    sent = worker_input(
        extra_params=["min_p", "top_k"],
        reasoning_effort="low",
        thinking_budget_tokens="2048",
        extra_body='{"a": 0.5}',
    )
    assert alice.post(NEW, sent).status_code == 302
    worker = the_worker(cast)
    assert worker.extra_params == ["min_p", "top_k"]
    assert (worker.reasoning_effort, worker.thinking_budget_tokens) == ("low", 2048)
    assert worker.extra_body == {"a": 0.5}
    page = alice.get(f"/workers/{worker.id}/").content.decode()
    assert "{&quot;a&quot;:0.5}</textarea>" in page
    assert '<option value="low" selected>' in page


def test_a_wrong_extra_body_is_told_beside_its_open_field(cast, alice):
    page = alice.post(NEW, worker_input(extra_body="[]")).content.decode()
    assert 'id="id_extra_body_error"' in page
    part = page.partition("Parameters: reasoning effort")[0]
    assert part.rpartition("<details")[2].startswith(' class="more" open')
    assert not Worker.objects.for_team(cast.team.id).exists()


def test_unknown_provider_is_an_empty_form(alice):
    assert alice.get(f"{NEW}?provider=bogus").status_code == 200


def test_worker_with_a_new_key_is_saved_with_both(cast, alice):
    sent = worker_input(
        base_url="http://127.0.0.1:9/v1",
        credential_id="new",
        secret=SECRET,
        tags_region=["eu"],
        tags_kind=["open-weight"],
        more_tags="blue, eu",
        context_tokens="8192",
        **{"price.input_usd": "0.15", "price.output_usd": "0.6"},
        **{"timeouts.total_s": "120"},
    )
    assert alice.post(NEW, sent).status_code == 302
    worker = the_worker(cast)
    assert worker.credential.host == "127.0.0.1:9"
    assert worker.tags == ["eu", "open-weight", "blue"]
    assert (worker.context_tokens, worker.total_timeout_s) == (8192, 120)
    assert worker.prices.get().input_micros == 150_000


def test_fault_in_the_worker_leaves_no_key_behind(cast, alice):
    sent = worker_input(name="no spaces", credential_id="new", secret=SECRET)
    response = alice.post(NEW, sent)
    assert response.status_code == 422
    assert not Credential.objects.for_team(cast.team.id).exists()
    assert SECRET not in response.content.decode()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "no spaces"),
        ("base_url", "ftp://example.org"),
        ("base_url", "http://10.0.0.1/v1"),
        ("max_output_tokens", "0"),
        ("price.input_usd", "-1"),
        ("price.output_usd", ""),
        ("timeouts.connect_s", "999999999"),
        ("more_tags", "two words"),
        ("context_tokens", "many"),
        ("protocol", "telepathy"),
    ],
)
def test_fault_is_shown_beside_its_field_and_nothing_is_saved(
    cast, alice, field, value
):
    sent = worker_input(**{"price.input_usd": "1", "price.output_usd": "2"})
    response = alice.post(NEW, {**sent, field: value})
    assert response.status_code == 422
    assert f'id="id_{field}_error"' in response.content.decode()
    assert not Worker.objects.for_team(cast.team.id).exists()


def test_new_key_must_be_pasted(alice):
    response = alice.post(NEW, worker_input(credential_id="new"))
    assert 'id="id_secret_error"' in response.content.decode()


def test_key_for_another_host_is_refused(cast, alice):
    other = Credential.objects.create(
        team=cast.team, name="other", host="example.org:443", sealed=b"-"
    )
    response = alice.post(NEW, worker_input(credential_id=str(other.id)))
    assert 'id="id_credential_id_error"' in response.content.decode()


def test_key_of_another_team_cannot_be_chosen(cast, alice):
    foreign = Credential.objects.create(
        team=cast.other_team, name="theirs", host="127.0.0.1:9", sealed=b"-"
    )
    response = alice.post(NEW, worker_input(credential_id=str(foreign.id)))
    assert 'id="id_credential_id_error"' in response.content.decode()


def test_first_worker_makes_a_pool_with_a_mini_tier(cast, alice):
    alice.post(NEW, worker_input(pools=["new"]))
    pool = Pool.objects.for_team(cast.team.id).get()
    assert pool.is_default
    assert [tier.name for tier in pool.tiers.all()] == ["mini"]


def test_next_worker_takes_the_last_place_of_a_pool(cast, alice):
    pool = PoolFactory.create(team=cast.team)
    alice.post(NEW, worker_input(pools=[str(pool.id)]))
    names = pool.places.order_by("position").values_list("worker__name", flat=True)
    assert list(names) == ["alpha", "beta", "gamma", "fast"]


def test_pool_of_another_team_cannot_be_chosen(cast, alice):
    foreign = PoolFactory.create(team=cast.other_team)
    response = alice.post(NEW, worker_input(pools=[str(foreign.id)]))
    assert response.status_code == 422
    assert foreign.places.count() == 3


def test_save_and_test_shows_what_the_model_said(cast, alice, simulator_url):
    sent = worker_input(base_url=simulator_url, model="sim-delta", test="1")
    page = alice.post(NEW, sent, follow=True).content.decode()
    assert "Test passed." in page
    assert "Worker fast added." in page


def test_test_says_what_a_model_can_do_and_how_that_is_set(cast, alice, simulator_url):
    sent = worker_input(base_url=simulator_url, model="sim-delta", test="1")
    text = words(alice.post(NEW, sent, follow=True).content.decode())
    assert "Images: detected, but off." in text
    assert "Tools: on." in text
    assert "Continuation: detected, but off." in text


def test_test_says_what_is_on_and_not_supported(cast, alice, simulator_url):
    marked = {"base_url": simulator_url, "model": "text-only", "accepts_images": "on"}
    text = words(
        alice.post(NEW, worker_input(**marked, test="1"), follow=True).content.decode()
    )
    assert "Images: on, but not supported. Tools: on, but not supported." in text


def test_one_button_sets_abilities_as_the_test_found_them(cast, alice, simulator_url):
    worker = WorkerFactory.create(
        team=cast.team, base_url=simulator_url, model="text-only", accepts_images=True
    )
    page = alice.post(f"/workers/{worker.id}/test/", follow=True).content.decode()
    assert "Set as detected" in page
    url = f"/workers/{worker.id}/abilities/"
    text = words(alice.post(url, follow=True).content.decode())
    assert "Images: not supported. Tools: not supported." in text
    assert "Set as detected" not in text
    worker.refresh_from_db()
    assert not worker.accepts_images and not worker.accepts_tools


def test_failing_test_names_the_error_and_what_to_do(cast, alice, simulator_url):
    worker = WorkerFactory.create(
        team=cast.team, base_url=simulator_url, model="no-such-model"
    )
    text = words(
        alice.post(f"/workers/{worker.id}/test/", follow=True).content.decode()
    )
    assert "Test failed." in text
    assert "Check the address and the model." in text
    assert "Failing" in text


def test_unreachable_server_is_told_in_words(cast, alice, worker):
    page = alice.post(f"/workers/{worker.id}/test/", follow=True).content.decode()
    assert "Check the address, and that the server is running" in page


def test_test_from_the_list_leads_back_to_the_list(alice, worker):
    response = alice.post(f"/workers/{worker.id}/test/", {"from": "list"})
    assert response.url == f"/workers/#worker-{worker.id}"


def test_page_script_gets_the_result_alone(cast, alice, simulator_url):
    worker = WorkerFactory.create(
        team=cast.team, base_url=simulator_url, model="sim-delta"
    )
    url = f"/workers/{worker.id}/test/"
    page = alice.post(url, headers={"X-Partial": "true"}).content.decode()
    assert "Test passed." in page
    assert "Healthy" in page
    assert "<html" not in page


def test_models_of_the_provider_are_offered(alice, simulator_url):
    sent = worker_input(base_url=simulator_url, model="", list_models="1")
    page = alice.post(NEW, sent).content.decode()
    assert '<option value="sim-delta">' in page
    assert f'value="{simulator_url}"' in page
    assert "field__error" not in page


def test_listing_models_keeps_what_was_typed_but_not_the_key(alice, simulator_url):
    sent = worker_input(
        base_url=simulator_url,
        credential_id="new",
        secret=SECRET,
        tags_region=["eu"],
        list_models="1",
    )
    page = alice.post(NEW, sent).content.decode()
    assert SECRET not in page
    assert "Paste the key again" in page
    assert 'value="small-model"' in page


def test_listing_models_of_a_forbidden_address_says_why(alice):
    sent = worker_input(base_url="http://169.254.169.254/latest", list_models="1")
    response = alice.post(NEW, sent, headers={"X-Partial": "true"})
    assert "field__error" in response.content.decode()


def test_worker_is_changed_in_place(cast, alice, worker):
    sent = worker_input(name="steady", model="bigger-model", description="Law")
    response = alice.post(f"/workers/{worker.id}/", sent)
    assert response.status_code == 302
    worker.refresh_from_db()
    assert (worker.model, worker.description) == ("bigger-model", "Law")


def test_untouched_price_stays_as_it_is(cast, alice, worker):
    PriceFactory.create(worker=worker)
    sent = worker_input(**{"price.input_usd": "1", "price.output_usd": "2"})
    alice.post(f"/workers/{worker.id}/", sent)
    assert [str(price.valid_from) for price in worker.prices.all()] == ["2025-01-01"]


def test_saving_what_is_there_records_nothing(cast, alice, worker):
    sent = worker_input(
        name="steady",
        model="big-model",
        max_output_tokens="4096",
    )
    alice.post(f"/workers/{worker.id}/", sent)
    assert not Entry.objects.for_team(cast.team.id).filter(action="worker.updated")


def test_new_price_is_in_force_from_today(cast, alice, worker):
    PriceFactory.create(worker=worker)
    sent = worker_input(**{"price.input_usd": "3", "price.output_usd": "2"})
    alice.post(f"/workers/{worker.id}/", sent)
    assert worker.prices.first().input_micros == 3_000_000


def test_deleting_is_asked_about_first(cast, alice, worker):
    page = alice.get(f"/workers/{worker.id}/delete/").content.decode()
    assert "Delete the worker “steady”?" in page
    assert Worker.objects.for_team(cast.team.id).exists()
    alice.post(f"/workers/{worker.id}/delete/")
    assert not Worker.objects.for_team(cast.team.id).exists()


def test_worker_of_a_pool_stays_and_the_page_says_why(cast, alice):
    pool = PoolFactory.create(team=cast.team, name="house")
    url = f"/workers/{pool.fallback_id}/delete/"
    page = alice.post(url, follow=True).content.decode()
    assert "house" in words(page)
    assert Worker.objects.for_team(cast.team.id).count() == 3


@pytest.mark.parametrize("path", ["", "test/", "delete/"])
def test_worker_of_another_team_is_not_there(cast, worker, path):
    mallory = signed_in(cast.mallory)
    url = f"/workers/{worker.id}/{path}"
    assert mallory.post(url, worker_input()).status_code == 404
    assert Worker.objects.for_team(cast.team.id).get().name == "steady"


def test_worker_that_never_was_is_not_there(alice):
    assert alice.get(f"/workers/{uuid.uuid4()}/").status_code == 404


@pytest.mark.parametrize("name", ["bob", "vera"])
def test_others_read_and_are_told_whom_to_ask(cast, worker, name):
    client = signed_in(getattr(cast, name))
    for url in ("/workers/", f"/workers/{worker.id}/"):
        page = client.get(url).content.decode()
        assert "ask an owner or admin" in page
        assert "Save and test" not in page


@pytest.mark.parametrize("path", ["new/", "{id}/", "{id}/test/", "{id}/delete/"])
def test_others_change_nothing(cast, worker, path):
    url = f"/workers/{path.format(id=worker.id)}"
    assert signed_in(cast.bob).post(url, worker_input()).status_code == 403
    assert Worker.objects.for_team(cast.team.id).get().name == "steady"


def test_anonymous_signs_in_first(client, cast, worker):
    assert client.get(f"/workers/{worker.id}/").status_code == 302


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("http://127.0.0.1:8765/v1", "127.0.0.1:8765"),
        ("https://api.openai.com/v1", "OpenAI"),
    ],
)
def test_pasted_key_is_named_after_what_it_is_for(cast, alice, base_url, name):
    """A local address says nothing of what runs there (C18)."""
    sent = worker_input(base_url=base_url, credential_id="new", secret=SECRET)
    alice.post("/workers/new/?provider=other", sent)
    assert Credential.objects.for_team(cast.team.id).get().name == name
