"""Who may call what: every operation there is, tried by everybody who should not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import Role, Scope
from apps.accounts.rights import ANY_KEY, Right
from apps.accounts.selectors import role_allows
from apps.rest import urls as rest_urls
from tests.conftest import membership
from tests.rest.conftest import Caller, fault, keyed, member
from tests.rest.things import make_things, more_things


def operations() -> Iterator[tuple[str, str, Right]]:
    for pattern in rest_urls.urlpatterns:
        view = getattr(pattern.callback, "cls")  # noqa: B009
        for method, right in getattr(view, "rights", {}).items():
            yield str(pattern.name), method, right


def operator_operations() -> Iterator[tuple[str, str]]:
    """Yield operations on the whole site; tests/security tries who may call them."""
    for pattern in rest_urls.urlpatterns:
        view = getattr(pattern.callback, "cls")  # noqa: B009
        if getattr(view, "is_for_operators", False):
            methods = set(view().allowed_methods) - {"HEAD"}
            yield from ((str(pattern.name), method) for method in sorted(methods))


EVERY_OPERATION = list(operations())


@pytest.fixture
def things(cast):
    return make_things(cast)


@pytest.fixture
def address(things):
    patterns = {pattern.name: pattern for pattern in rest_urls.urlpatterns}

    def of(name: str) -> str:
        wanted = patterns[name].pattern.converters
        return reverse(f"rest:{name}", kwargs={key: things[key] for key in wanted})

    return of


def has_id(name: str, address: Any) -> bool:
    return any(character.isdigit() for character in address(name)[7:])


def call(caller: Caller, method: str, path: str) -> Any:
    return caller.call(method, path, {} if method in ("POST", "PATCH") else None)


def test_there_are_operations():
    assert len(EVERY_OPERATION) > 50


def test_a_stranger_gets_401(address, subtests):
    stranger = Caller(Client())
    for name, method, _ in EVERY_OPERATION:
        with subtests.test(f"{method} {name}"):
            response = call(stranger, method, address(name))
            assert fault(response, 401)["code"] == "not_authenticated"


@pytest.mark.parametrize("role", [each for each in Role.values if each != "owner"])
def test_a_role_without_the_permission_gets_403(role, address, cast, subtests):
    row = membership(cast.team, cast.vera)
    row.role = role
    row.save()
    caller = member(cast.vera)
    for name, method, right in EVERY_OPERATION:
        if role_allows(role, right.permission):
            continue
        with subtests.test(f"{method} {name}"):
            error = fault(call(caller, method, address(name)), 403)
            assert error["code"] == "permission_denied"


def test_a_key_without_the_scope_gets_403(address, cast, subtests):
    lacking = {
        scopes: keyed(cast.team, *(each for each in Scope if each not in scopes))
        for scopes in {right.scopes for _, _, right in EVERY_OPERATION} - {ANY_KEY}
    }
    for name, method, right in EVERY_OPERATION:
        if right.scopes == ANY_KEY:
            continue
        caller = lacking[right.scopes]
        with subtests.test(f"{method} {name}"):
            error = fault(call(caller, method, address(name)), 403)
            assert error["code"] == "permission_denied"


def test_another_team_gets_404_for_what_is_not_its_own(address, cast, subtests):
    person, key = member(cast.mallory), keyed(cast.other_team, *Scope)
    for name, method, right in EVERY_OPERATION:
        if not has_id(name, address):
            continue
        body = BODIES.get((method, name), {})
        for caller in [person, key] if right.scopes else [person]:
            with subtests.test(f"{method} {name}", is_key=caller is key):
                response = caller.call(method, address(name), body, if_match="*")
                assert fault(response, 404)["code"] == "not_found"


def test_another_team_does_not_reach_it_by_naming_it(address, cast, subtests):
    caller = member(cast.mallory)
    for name, method, _ in EVERY_OPERATION:
        with subtests.test(f"{method} {name}"):
            response = caller.call(method, address(name), {}, X_Team="orchestra")
            assert fault(response, 404)["code"] == "not_found"


BODIES = {
    ("PATCH", "member"): {"role": "admin"},
    ("PATCH", "key"): {"name": "Mine"},
    ("PATCH", "credential"): {"name": "Mine"},
    ("PATCH", "worker"): {"name": "mine"},
    ("PATCH", "conductor"): {"name": "mine"},
    ("PATCH", "pool"): {"name": "mine"},
    ("POST", "comparison_vote"): {"choice": "tie"},
    ("PATCH", "budget"): {"limit_usd": "1.00"},
    ("PUT", "run_tags"): {"tags": ["checked"]},
    ("POST", "alert_mute"): {"minutes": 60},
    ("PUT", "planner_use"): {"version": 1, "tiers": ["ultra"]},
}
"""A good body, so that what is refused is the id."""


LISTS = ["members", "invitations", "keys", "credentials", "workers", "conductors"]


@pytest.mark.parametrize("name", [*LISTS, "pools", "budgets", "runs"])
def test_a_list_holds_the_team_s_own_alone(name, address, cast):
    mine = member(cast.alice).get(address(name)).json()["data"]
    theirs = member(cast.mallory).get(address(name)).json()["data"]
    ids = {each.get("id") or each["user_id"] for each in mine}
    assert ids
    assert ids.isdisjoint(each.get("id") or each["user_id"] for each in theirs)


@pytest.mark.parametrize("name", [*LISTS, "pools", "budgets", "runs"])
def test_a_longer_list_takes_no_more_queries(name, address, cast, things):
    caller, path = member(cast.alice), address(name)
    with CaptureQueriesContext(connection) as few:
        short = len(caller.get(path).json()["data"])
    more_things(cast, things)
    with CaptureQueriesContext(connection) as many:
        long = len(caller.get(path).json()["data"])
    assert long > short
    assert len(many) == len(few) < 16


@pytest.mark.parametrize("name", [*LISTS, "pools", "budgets", "runs", "usage"])
def test_no_answer_holds_a_secret(name, address, cast):
    text = member(cast.alice).get(address(name)).content.decode()
    for secret in ("sk-canary", cast.key.secret, cast.key.row.digest, "sealed"):
        assert secret not in text
