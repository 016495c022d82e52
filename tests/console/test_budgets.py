"""Budgets and rates: the bars, setting, changing, deleting."""

import re

import pytest

from apps.budgets.models import Budget
from apps.budgets.services import budget_create
from apps.pools.models import Pool, Price
from tests.conftest import make_pool
from tests.console.conftest import text_of
from tests.factories import ACTOR, issue_key

LIST, NEW = "/budgets/", "/budgets/new/"
FORM = {"kind": "team", "period": "day", "limit_usd": "10"}


def budgets(cast):
    return Budget.objects.for_team(cast.team.id)


@pytest.fixture
def budget(cast):
    """The team's budget of ten dollars a day."""
    return set_budget(cast, kind="team")


def set_budget(cast, limit="10", **values):
    values = {"period": "day", "limit_usd": limit, **values}
    return budget_create(team=cast.team, values=values, actor=ACTOR)


def test_team_without_budgets_is_told_what_they_are(alice):
    page = text_of(alice.get(LIST))
    assert "No budgets yet" in page
    assert NEW in page


def test_everybody_in_the_team_sees_limits_and_when_they_reset(vera, budget):
    page = text_of(vera.get(LIST))
    assert "$10.00" in page
    assert "Resets <time" in page
    assert "Set a budget" not in page
    assert "Your role “Viewer” lets you see this page" in page


def test_another_team_sees_none_of_it(mallory, budget):
    assert "No budgets yet" in text_of(mallory.get(LIST))


def test_anonymous_signs_in_first(client, cast):
    assert client.get(LIST).status_code == 302


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({}, (None, None)),
        ({"kind": "member", "user": "<bob>"}, ("<bob>", None)),
        ({"kind": "key", "api_key": "<key>"}, (None, "<key>")),
    ],
)
def test_owner_sets_a_budget(alice, cast, actions, fields, target):
    ids = {"<bob>": cast.bob.id, "<key>": cast.key.row.id, None: None}
    chosen = {name: ids.get(value, value) for name, value in fields.items()}
    assert alice.post(NEW, {**FORM, **chosen}).status_code == 302
    made = budgets(cast).get()
    assert (made.user_id, made.api_key_id) == (ids[target[0]], ids[target[1]])
    assert made.limit_micros == 10_000_000
    assert "budget.created" in actions()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"limit_usd": ""}, "limit_usd"),
        ({"limit_usd": "-5"}, "limit_usd"),
        ({"limit_usd": "0.0000001"}, "limit_usd"),
        ({"limit_usd": "Infinity"}, "limit_usd"),
        ({"period": "century"}, "period"),
        ({"kind": "planet"}, "kind"),
        ({"kind": "member"}, "user"),
        ({"kind": "key"}, "api_key"),
        ({"kind": "key", "api_key": "nonsense"}, "api_key"),
    ],
)
def test_bad_field_shows_its_error_and_saves_nothing(alice, cast, fields, field):
    page = text_of(alice.post(NEW, {**FORM, **fields}))
    assert f'id="id_{field}_error"' in page
    assert "Nothing was saved." in page
    assert not budgets(cast).exists()


def test_same_budget_twice_is_refused_beside_the_field(alice, cast, budget):
    page = text_of(alice.post(NEW, FORM))
    assert re.search(r'id="id_period_error"[^>]*>There is a budget', page)
    assert budgets(cast).count() == 1


def test_member_and_key_of_another_team_cannot_be_chosen(alice, cast):
    theirs = issue_key(cast.other_team).row
    for fields in (
        {"kind": "member", "user": cast.mallory.id},
        {"kind": "key", "api_key": theirs.id},
    ):
        page = text_of(alice.post(NEW, {**FORM, **fields}))
        assert "of this team." in page
    assert not budgets(cast).exists()


def test_limit_is_changed(alice, cast, budget):
    assert 'value="10.00"' in text_of(alice.get(f"/budgets/{budget.id}/"))
    alice.post(f"/budgets/{budget.id}/", {"limit_usd": "12.345678"})
    assert budgets(cast).get().limit_micros == 12_345_678


def test_bad_limit_changes_nothing(alice, cast, budget):
    page = text_of(alice.post(f"/budgets/{budget.id}/", {"limit_usd": "none"}))
    assert 'id="id_limit_usd_error"' in page
    assert budgets(cast).get().limit_micros == 10_000_000


def test_budget_is_deleted_after_being_asked(alice, cast, budget):
    url = f"/budgets/{budget.id}/delete/"
    question = "Delete the budget of “Whole team”, $10.00 per day?"
    assert question in text_of(alice.get(url))
    alice.post(url)
    assert not budgets(cast).exists()


@pytest.mark.parametrize("what", ["", "delete/"])
def test_another_team_does_not_find_the_budget(mallory, cast, budget, what):
    url = f"/budgets/{budget.id}/{what}"
    assert mallory.get(url).status_code == 404
    assert mallory.post(url, {"limit_usd": "1"}).status_code == 404
    assert budgets(cast).get().limit_micros == 10_000_000


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_change_no_budget(request, cast, budget, who):
    browser = request.getfixturevalue(who)
    for url in (NEW, f"/budgets/{budget.id}/", f"/budgets/{budget.id}/delete/"):
        assert browser.post(url, FORM).status_code == 403
    assert browser.post("/team/rates/", {}).status_code == 403
    assert budgets(cast).get().limit_micros == 10_000_000


def test_least_of_several_limits_is_said_to_bind(alice, cast):
    set_budget(cast, "10", kind="team")
    set_budget(cast, "3", kind="key", api_key_id=str(cast.key.row.id))
    set_budget(cast, "50", kind="member", user_id=str(cast.bob.id))
    page = text_of(alice.get(LIST))
    row = page[page.index("Build server") :]
    assert page.count("Binds first:") == 1
    assert "Binds first:" in row


def test_bar_of_a_key_stands_in_the_list_of_keys(alice, cast):
    set_budget(cast, "3", kind="key", api_key_id=str(cast.key.row.id))
    page = text_of(alice.get("/keys/"))
    assert "0 per cent spent" in page
    assert "$3.00" in page


def test_rates_of_the_team_are_set_and_lifted(alice, cast):
    alice.post("/team/rates/", {"requests_per_minute": "60", "tokens_per_minute": ""})
    cast.team.refresh_from_db()
    assert (cast.team.requests_per_minute, cast.team.tokens_per_minute) == (60, None)
    assert "60 requests per minute" in text_of(alice.get(LIST))
    alice.post("/team/rates/", {})
    cast.team.refresh_from_db()
    assert cast.team.requests_per_minute is None


def test_bad_rate_shows_its_error(alice, cast):
    page = text_of(alice.post("/team/rates/", {"requests_per_minute": "-1"}))
    assert 'id="id_requests_per_minute_error"' in page


@pytest.fixture
def pool(cast):
    """A pool whose workers and conductor have prices."""
    make_pool(cast.team, "http://127.0.0.1:9/v1")
    return Pool.objects.for_team(cast.team.id).get()


def forget_prices(cast, **of):
    Price.objects.for_team(cast.team.id).filter(**of).delete()


def field_of(model):
    kind = "conductors" if hasattr(model, "mode") else "workers"
    return f'href="/{kind}/{model.id}/#id_price.input_usd"'


def test_who_sets_a_budget_reads_which_models_it_would_refuse(alice, cast, pool):
    worker = pool.workers.get(name="sim-birch")
    forget_prices(cast, worker=worker)
    forget_prices(cast, conductor=pool.conductor)
    for page in (
        text_of(alice.get(NEW)),
        text_of(alice.post(NEW, FORM, follow=True)),
    ):
        assert "2 models of your pools have no price." in page
        assert "A budget refuses every run that may use one of them." in page
        assert field_of(worker) in page
        assert field_of(pool.conductor) in page
    assert 'id="id_price.input_usd"' in text_of(alice.get(f"/workers/{worker.id}/"))


def test_members_read_it_without_links_to_what_they_may_not_change(
    vera, cast, pool, budget
):
    worker = pool.workers.get(name="sim-birch")
    forget_prices(cast, worker=worker)
    page = text_of(vera.get(LIST))
    assert "Ask an admin to fill in the price of:" in page
    assert worker.name in page
    assert field_of(worker) not in page


def test_nothing_is_said_of_models_that_no_run_may_use(alice, cast, pool, budget):
    worker = pool.workers.get(name="sim-birch")
    forget_prices(cast, worker=worker)
    assert "no price" in text_of(alice.get(LIST))
    worker.is_enabled = False
    worker.save()
    assert "no price" not in text_of(alice.get(LIST))
    forget_prices(cast, conductor=pool.conductor)
    assert "no price" in text_of(alice.get(LIST))
    pool.tiers.update(planner="single_worker")
    assert "no price" not in text_of(alice.get(LIST))


def test_another_team_reads_nothing_of_it(mallory, cast, pool):
    forget_prices(cast, worker__isnull=False)
    assert "no price" not in text_of(mallory.get(NEW))
