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


def operations() -> Iterator[Any]:
    for pattern in rest_urls.urlpatterns:
        view = getattr(pattern.callback, "cls")  # noqa: B009
        for method, right in getattr(view, "rights", {}).items():
            yield pytest.param(
                pattern.name, method, right, id=f"{method} {pattern.name}"
            )


def operator_operations() -> Iterator[tuple[str, str]]:
    """Yield operations on the whole site; tests/security tries who may call them."""
    for pattern in rest_urls.urlpatterns:
        view = getattr(pattern.callback, "cls")  # noqa: B009
        if getattr(view, "is_for_operators", False):
            methods = set(view().allowed_methods) - {"HEAD"}
            yield from ((str(pattern.name), method) for method in sorted(methods))


every_operation = pytest.mark.parametrize(
    ("name", "method", "right"), list(operations())
)


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
    assert len(list(operations())) > 50


@every_operation
def test_a_stranger_gets_401(name, method, right, address):
    response = call(Caller(Client()), method, address(name))
    assert fault(response, 401)["code"] == "not_authenticated"


@every_operation
def test_a_role_without_the_permission_gets_403(
    name, method, right: Right, address, cast
):
    lacking = [r for r in Role.values if not role_allows(r, right.permission)]
    for role in lacking:
        row = membership(cast.team, cast.vera)
        row.role = role
        row.save()
        error = fault(call(member(cast.vera), method, address(name)), 403)
        assert error["code"] == "permission_denied"


@every_operation
def test_a_key_without_the_scope_gets_403(name, method, right: Right, address, cast):
    if right.scopes == ANY_KEY:
        return
    others = [scope for scope in Scope if scope not in right.scopes]
    error = fault(call(keyed(cast.team, *others), method, address(name)), 403)
    assert error["code"] == "permission_denied"


@every_operation
def test_another_team_gets_404_for_what_is_not_its_own(
    name, method, right: Right, address, cast
):
    if not has_id(name, address):
        return
    callers = [member(cast.mallory)]
    if right.scopes:
        callers.append(keyed(cast.other_team, *Scope))
    for caller in callers:
        path = address(name)
        body = BODIES.get((method, name), {})
        response = caller.call(method, path, body, if_match="*")
        assert fault(response, 404)["code"] == "not_found"


@every_operation
def test_another_team_does_not_reach_it_by_naming_it(
    name, method, right, address, cast
):
    caller = member(cast.mallory)
    response = caller.call(method, address(name), {}, X_Team="orchestra")
    fault(response, 404)


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
