"""The pages about pools: the first one, changing, two people at once, history."""

import re

import pytest

from apps.pools.models import Pool
from apps.pools.selectors import pool_versions
from apps.pools.services import pool_update, worker_delete, worker_update
from tests.console.models import pool_input, signed_in, words
from tests.factories import ACTOR, PoolFactory, PriceFactory, WorkerFactory


@pytest.fixture
def alice(cast):
    return signed_in(cast.alice)


@pytest.fixture
def pool(cast):
    return PoolFactory.create(team=cast.team, name="house")


def order_of(pool):
    places = pool.places.order_by("position")
    return list(places.values_list("worker__name", flat=True))


def test_team_without_anything_is_led_to_its_first_worker(alice):
    page = alice.get("/pools/").content.decode()
    assert "No pool yet" in page
    assert 'href="/setup/"' in page
    assert 'href="/workers/new/"' in page
    assert "Make the pool" not in page
    assert page.count("first-run__steps") == 0


def test_one_click_makes_a_pool_out_of_the_workers_there_are(cast, alice):
    WorkerFactory.create(team=cast.team, name="one")
    WorkerFactory.create(team=cast.team, name="two", is_enabled=False)
    assert "Make the pool" in alice.get("/pools/").content.decode()
    page = alice.post("/pools/start/", follow=True).content.decode()
    pool = Pool.objects.for_team(cast.team.id).get()
    assert (pool.is_default, order_of(pool)) == (True, ["one"])
    assert [tier.name for tier in pool.tiers.all()] == ["mini"]
    assert "Pool created." in page


def test_no_pool_can_be_made_of_nothing(cast, alice):
    page = alice.post("/pools/start/", follow=True).content.decode()
    assert "worker first" in page
    assert not Pool.objects.for_team(cast.team.id).exists()


def test_card_says_in_words_what_a_pool_is(cast, alice, pool):
    for place in pool.places.all():
        PriceFactory.create(worker=place.worker)
    text = words(alice.get("/pools/").content.decode())
    for shown in (
        "house default",
        "Version 1",
        "conductor-ultra",
        "at most 5 steps",
        "4 calls at a time",
        "no cost limit",
        "alpha Untested $1 in · $2 out per 1M tokens",
    ):
        assert shown in text


def test_pool_that_is_not_the_default_is_called_by_its_name(cast, alice, pool):
    PoolFactory.create(team=cast.team, name="lab", is_default=False, workers=("delta",))
    assert "lab/ultra" in alice.get("/pools/").content.decode()


def test_pool_is_changed_and_gets_a_new_version(cast, alice, pool):
    ids = [str(place.worker_id) for place in pool.places.order_by("-position")]
    sent = pool_input(pool, worker_ids=ids, **{"tiers.ultra.max_cost_usd": "0.25"})
    page = alice.post(f"/pools/{pool.id}/", sent, follow=True).content.decode()
    assert "The pool house is saved as version 2." in page
    assert order_of(pool) == ["gamma", "beta", "alpha"]
    assert pool.tiers.get(name="ultra").max_cost_micros == 250_000


def test_pool_says_who_may_take_over(cast, alice, pool):
    text = words(alice.get("/pools/").content.decode())
    assert "Fallback alpha, then the others" in text
    names = {place.worker.name: str(place.worker_id) for place in pool.places.all()}
    for kept, shown in (("gamma", "alpha, then gamma"), ("alpha", "Fallback alpha")):
        sent = pool_input(pool, substitute_ids=[names[kept]])
        assert alice.post(f"/pools/{pool.id}/", sent).status_code == 302
        pool.refresh_from_db()
        text = words(alice.get("/pools/").content.decode())
        assert shown in text
        assert "the others" not in text
    page = alice.get(f"/pools/{pool.id}/").content.decode()
    boxes = re.findall(r'name="substitute_ids" value="([^"]+)"( checked)?', page)
    assert [key for key, checked in boxes if checked] == [names["alpha"]]


def test_worker_outside_of_the_pool_begins_as_one_that_may_take_over(cast, alice, pool):
    other = WorkerFactory.create(team=cast.team, name="other")
    page = alice.get(f"/pools/{pool.id}/").content.decode()
    assert f'name="substitute_ids" value="{other.id}" checked' in page


def test_tier_says_how_answers_go_out_and_whether_rivals_are_asked(cast, alice, pool):
    tier = {"tiers.ultra.delivery": "verified", "tiers.ultra.is_hedged": "on"}
    tier["tiers.ultra.allows_delegation"] = "on"
    alice.post(f"/pools/{pool.id}/", pool_input(pool, **tier))
    ultra, mini = (pool.tiers.get(name=name) for name in ("ultra", "mini"))
    assert (ultra.delivery, ultra.is_hedged) == ("verified", True)
    assert (mini.delivery, mini.is_hedged) == ("live", False)
    assert (ultra.allows_delegation, mini.allows_delegation) == (True, False)
    text = words(alice.get("/pools/").content.decode())
    assert "answers once complete, a second worker when one is slow" in text
    assert "a worker may plan the rest" in text
    page = alice.get(f"/pools/{pool.id}/").content.decode()
    assert '<option value="verified" selected>' in page


def test_saving_what_is_there_makes_no_version(cast, alice, pool):
    alice.post(f"/pools/{pool.id}/", pool_input(pool))
    pool.refresh_from_db()
    version = pool.version
    page = alice.post(f"/pools/{pool.id}/", pool_input(pool), follow=True)
    pool.refresh_from_db()
    assert pool.version == version
    assert "Nothing to change" in page.content.decode()


def test_limits_of_tiers_are_folded_until_there_is_a_fault(cast, alice, pool):
    address = f"/pools/{pool.id}/"
    page = alice.get(address).content.decode()
    assert page.count('<details class="more"><summary>Limits') == 2
    sent = pool_input(pool, **{"tiers.ultra.max_steps": "0"})
    page = alice.post(address, sent).content.decode()
    assert page.count('<details class="more" open><summary>Limits') == 2


def test_ultra_tier_can_be_taken_away(cast, alice, pool):
    sent = pool_input(pool)
    del sent["has_ultra"]
    sent["tiers.ultra.max_steps"] = ""
    assert alice.post(f"/pools/{pool.id}/", sent).status_code == 302
    assert [tier.name for tier in pool.tiers.all()] == ["mini"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "a/b"),
        ("worker_ids", []),
        ("fallback_id", ""),
        ("tiers.ultra.max_steps", "0"),
        ("tiers.ultra.max_steps", "13"),
        ("tiers.mini.max_cost_usd", "-1"),
        ("tiers.mini.wall_time_s", "forever"),
        ("tiers.mini.delivery", "later"),
    ],
)
def test_fault_is_shown_beside_its_field_and_nothing_is_saved(
    cast, alice, pool, field, value
):
    response = alice.post(f"/pools/{pool.id}/", pool_input(pool, **{field: value}))
    page = response.content.decode()
    told = {"tiers.ultra.max_steps": "tiers.ultra.max_"}.get(field, field)
    assert response.status_code == 422
    assert f'id="id_{told}' in page
    assert 'field__error"' in page
    pool.refresh_from_db()
    assert (pool.name, pool.version, order_of(pool)) == (
        "house",
        1,
        ["alpha", "beta", "gamma"],
    )


def test_fallback_must_be_in_the_pool(cast, alice, pool):
    outside = WorkerFactory.create(team=cast.team, name="outside")
    sent = pool_input(pool, fallback_id=str(outside.id))
    page = alice.post(f"/pools/{pool.id}/", sent).content.decode()
    assert 'id="id_fallback_id_error"' in page


def test_worker_of_another_team_cannot_be_chosen(cast, alice, pool):
    foreign = WorkerFactory.create(team=cast.other_team, name="foreign")
    ids = [*pool_input(pool)["worker_ids"], str(foreign.id)]
    response = alice.post(f"/pools/{pool.id}/", pool_input(pool, worker_ids=ids))
    assert response.status_code == 422
    assert order_of(pool) == ["alpha", "beta", "gamma"]


def test_second_of_two_people_sees_what_the_first_changed(cast, alice, pool):
    sent = pool_input(pool, name="mine")
    pool_update(pool=pool, values={"tiers": {"ultra": {"max_steps": 3}}}, actor=ACTOR)
    response = alice.post(f"/pools/{pool.id}/", sent)
    text = words(response.content.decode())
    assert response.status_code == 412
    assert "Another person changed this pool in the meantime" in text
    assert "Ultra tier: Steps 5 3" in text
    assert "by tests" in text
    assert 'value="mine"' in response.content.decode()
    pool.refresh_from_db()
    assert pool.name == "house"


def test_saving_on_top_after_a_conflict_works(cast, alice, pool):
    sent = pool_input(pool, name="mine")
    pool_update(pool=pool, values={"name": "theirs"}, actor=ACTOR)
    page = alice.post(f"/pools/{pool.id}/", sent).content.decode()
    assert 'name="version" value="2"' in page
    alice.post(f"/pools/{pool.id}/", {**sent, "version": "2"})
    pool.refresh_from_db()
    assert pool.name == "mine"


def test_moving_a_worker_saves_nothing_yet(cast, alice, pool):
    sent = pool_input(pool)
    move = f"up:{sent['worker_ids'][2]}"
    page = alice.post(f"/pools/{pool.id}/", {**sent, "move": move}).content.decode()
    assert "Moved, not saved yet." in page
    names = page.split('data-name="')[1:]
    assert [name.partition('"')[0] for name in names] == ["alpha", "gamma", "beta"]
    assert order_of(pool) == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize("move", ["up:bogus", "sideways", ""])
def test_move_that_makes_no_sense_changes_nothing(alice, pool, move):
    response = alice.post(f"/pools/{pool.id}/", {**pool_input(pool), "move": move})
    assert response.status_code == 200


def test_history_says_who_changed_what(cast, alice, pool):
    pool_update(pool=pool, values={"name": "home"}, actor=ACTOR)
    worker_update(worker=pool.fallback, values={"model": "newer"}, actor=ACTOR)
    text = words(alice.get(f"/pools/{pool.id}/history/").content.decode())
    assert "Version 3 by tests" in text
    assert "Worker alpha: Model alpha newer" in text
    assert "Name house home" in text
    assert "First version." in text


def test_what_is_added_whole_and_what_is_a_default_is_told_in_a_line(cast, alice, pool):
    pool_update(pool=pool, values={"tiers": {"ultra": None}}, actor=ACTOR)
    first = pool_versions(cast.team.id, pool.id).order_by("version")[0]
    for tier in first.document["tiers"].values():
        del tier["is_hedged"]  # as an older release left it
    first.save()
    text = words(alice.get(f"/pools/{pool.id}/history/").content.decode())
    assert "Tier ultra removed" in text
    assert "Ultra tier:" not in text
    assert "Ask a second worker" not in text


def test_earlier_version_is_restored_as_a_new_one(cast, alice, pool):
    pool_update(pool=pool, values={"retries_refusals": True}, actor=ACTOR)
    worker_update(worker=pool.fallback, values={"model": "newer"}, actor=ACTOR)
    page = alice.get(f"/pools/{pool.id}/history/").content.decode()
    assert "Restore version 1" in page
    assert "Restore version 3" not in page
    shown = words(restore(alice, pool, 1))
    assert "is as it was at version 1. That is version 4." in shown
    pool.refresh_from_db()
    assert not pool.retries_refusals
    assert pool.places.get(worker__name="alpha").worker.model == "alpha"
    assert "Nothing to restore" in words(restore(alice, pool, 1))


def test_version_whose_worker_is_gone_is_not_restored(cast, alice, pool):
    kept = pool.places.exclude(worker__name="gamma")
    gone = pool.places.get(worker__name="gamma").worker
    ids = [str(place.worker_id) for place in kept]
    pool_update(pool=pool, values={"worker_ids": ids}, actor=ACTOR)
    worker_delete(worker=gone, actor=ACTOR)
    assert "Not restored:" in restore(alice, pool, 1)
    pool.refresh_from_db()
    assert pool.version == 2


def test_members_restore_nothing(cast, alice, pool):
    pool_update(pool=pool, values={"name": "home"}, actor=ACTOR)
    bob = signed_in(cast.bob)
    assert bob.post(f"/pools/{pool.id}/history/1/restore/").status_code == 403
    assert (
        "Restore version" not in bob.get(f"/pools/{pool.id}/history/").content.decode()
    )


def restore(browser, pool, version):
    address = f"/pools/{pool.id}/history/{version}/restore/"
    return browser.post(address, follow=True).content.decode()


def test_pool_without_a_history_says_so(alice, pool):
    page = alice.get(f"/pools/{pool.id}/history/").content.decode()
    assert "No changes yet" in page


def test_new_pool_begins_with_everything_there_is(cast, alice, pool):
    page = alice.get("/pools/new/").content.decode()
    assert page.count('name="worker_ids"') == 3
    sent = pool_input(pool, name="second")
    del sent["is_default"]
    assert alice.post("/pools/new/", sent).status_code == 302
    second = Pool.objects.for_team(cast.team.id).get(name="second")
    assert (second.is_default, order_of(second)) == (False, order_of(pool))


def test_pool_page_without_workers_leads_to_the_first(alice):
    assert "Add your first worker" in alice.get("/pools/new/").content.decode()


def test_deleting_says_who_will_notice(cast, alice, pool):
    page = alice.get(f"/pools/{pool.id}/delete/").content.decode()
    assert "Requests for conductor-mini and conductor-ultra fail" in words(page)
    alice.post(f"/pools/{pool.id}/delete/")
    assert not Pool.objects.for_team(cast.team.id).exists()


def test_default_pool_stays_while_there_are_others(cast, alice, pool):
    PoolFactory.create(team=cast.team, name="lab", is_default=False, workers=("d",))
    page = alice.post(f"/pools/{pool.id}/delete/", follow=True).content.decode()
    assert "is the default" in words(page)
    assert Pool.objects.for_team(cast.team.id).count() == 2


@pytest.mark.parametrize("path", ["", "history/", "delete/"])
def test_pool_of_another_team_is_not_there(cast, pool, path):
    mallory = signed_in(cast.mallory)
    assert mallory.get(f"/pools/{pool.id}/{path}").status_code == 404


@pytest.mark.parametrize("name", ["bob", "vera"])
def test_others_read_and_are_told_whom_to_ask(cast, pool, name):
    client = signed_in(getattr(cast, name))
    for url in ("/pools/", f"/pools/{pool.id}/"):
        page = client.get(url).content.decode()
        assert "ask an owner or admin" in page
        assert 'class="button button--primary"' not in page
    assert client.get(f"/pools/{pool.id}/history/").status_code == 200


@pytest.mark.parametrize("path", ["new/", "start/", "{id}/", "{id}/delete/"])
def test_others_change_nothing(cast, pool, path):
    url = f"/pools/{path.format(id=pool.id)}"
    sent = pool_input(pool, name="taken-over")
    assert signed_in(cast.bob).post(url, sent).status_code == 403
    assert Pool.objects.for_team(cast.team.id).get().name == "house"


def test_anonymous_signs_in_first(client, pool):
    assert client.get(f"/pools/{pool.id}/").status_code == 302


@pytest.mark.parametrize("url", ["/pools/", "/workers/"])
def test_more_pools_and_workers_cost_no_more_queries(
    cast, alice, pool, url, recorded_queries
):
    alice.get(url)
    for number in range(3):
        PoolFactory.create(
            team=cast.team,
            is_default=False,
            workers=[f"w{number}{letter}" for letter in "abc"],
        )
    with recorded_queries():
        alice.get(url)
