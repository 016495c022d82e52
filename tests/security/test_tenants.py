"""G15: teams are isolated, at every address, for everybody who might ask."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Role
from apps.accounts.selectors import role_allows
from tests.factories import UserFactory
from tests.security.matrix import MATRIX, OPEN, SUPERUSERS_ONLY, Access
from tests.security.routes import Route, django_routes, gateway_routes, socket_routes
from tests.security.world import MARK, World, build_world
from tests.worlds import KeptDatabases

pytestmark = [pytest.mark.slow, pytest.mark.spread]

ROUTES = {route.name: route for route in django_routes() if not route.is_personal}
PERSONAL = [route for route in django_routes() if route.is_personal]
TEAM_ROUTES = [r for r in ROUTES.values() if MATRIX.get(r.name, OPEN) is not OPEN]
READS, WRITES = ("GET",), ("POST", "PUT", "PATCH", "DELETE")
PEOPLE = ("stranger", "former", "anonymous")
NOT_FOUND = {400, 403, 404, 405, 415, 428}
"""How a stranger can be told that there is nothing for them."""
TOLD_TO_SIGN_IN = {302, 401, 403, 405}
REFUSED = {401, 403}
CREATED_IN_THEIR_OWN = {200, 201, 202, 302, 409, 422, 503}
"""What a stranger does at an address that names nothing is done in their own team."""


@pytest.fixture
def world(transactional_db: None, kept_databases: KeptDatabases) -> World:
    return kept_databases.enter(build_world)


def ask(client: Any, method: str, address: str, **options: Any) -> Any:
    """Ask with a body that is harmless but well formed."""
    if method == "GET":
        return client.get(address, **options)
    return client.generic(
        method, address, b"{}", content_type="application/json", **options
    )


def names(routes: list[Route]) -> list[str]:
    return [route.name for route in routes]


def test_g15_every_address_is_in_the_matrix() -> None:
    assert set(MATRIX) == set(ROUTES)


def test_g15_every_socket_and_gateway_address_is_known() -> None:
    # Their own tests: tests/runs/test_watch.py, tests/gateway.
    assert socket_routes() == [
        "ws/runs/<uuid:run_id>/",
        "ws/comparisons/<uuid:comparison_id>/",
    ]
    assert sorted(gateway_routes()) == [
        "/v1/batches",
        "/v1/batches/{batch_id}",
        "/v1/batches/{batch_id}/cancel",
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
        "/v1/files",
        "/v1/files/{file_id}",
        "/v1/files/{file_id}/content",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/models",
        "/v1/models/{model_id:path}",
        "/v1/responses",
        "/v1/responses/compact",
        "/v1/responses/input_tokens",
        "/v1/responses/{response_id}",
        "/v1/responses/{response_id}/cancel",
        "/v1/responses/{response_id}/input_items",
    ]


@pytest.mark.parametrize("who", PEOPLE)
def test_g15_strangers_read_and_change_nothing(world: World, who: str) -> None:
    before = world.rows()
    for route in ROUTES.values():
        for method in (*READS, *WRITES):
            # A new browser each time: what a view puts into the session stays there.
            answer = ask(world.browser(who), method, world.address(route))
            _check_stranger(route, who, method, answer)
    assert world.rows() == before


@pytest.mark.parametrize("key", ["foreign", "revoked"])
def test_g15_strangers_keys_read_and_change_nothing(world: World, key: str) -> None:
    before = world.rows()
    for route in ROUTES.values():
        for method in (*READS, *WRITES):
            answer = ask(world.program(key), method, world.address(route))
            assert answer.status_code < 500, (route.name, method)
            _check_unmarked(route, answer)
            if key == "revoked" and route.is_api and route in TEAM_ROUTES:
                assert answer.status_code in {401, 405}, (route.name, method)
    assert world.rows() == before


def test_g15_naming_the_team_helps_no_stranger(world: World) -> None:
    before = world.rows()
    for route in TEAM_ROUTES:
        for method in (*READS, *WRITES):
            headers = {"X-Team": str(world.team.id)}
            client = world.browser("stranger")
            answer = ask(client, method, world.address(route), headers=headers)
            assert answer.status_code < 500, (route.name, method)
            _check_unmarked(route, answer)
    assert world.rows() == before


@pytest.mark.parametrize("role", Role.values)
def test_g15_roles_read_what_they_may(world: World, role: str) -> None:
    client = world.browser(role)
    for route in TEAM_ROUTES:
        wanted = MATRIX[route.name].read
        if wanted is None:
            continue
        # Reviewers are led from the first page to the runs.
        status = client.get(world.address(route), follow=True).status_code
        if MATRIX[route.name].is_own and role != Role.OWNER:
            assert status == (404 if role_allows(role, wanted) else 403), route.name
            continue
        _check_role(route, "GET", role_allows(role, wanted), status)


@pytest.mark.parametrize("role", [Role.MEMBER, Role.REVIEWER, Role.VIEWER])
def test_g15_roles_change_nothing_they_may_not(world: World, role: str) -> None:
    before = world.rows()
    for route in TEAM_ROUTES:
        wanted = MATRIX[route.name].write
        if wanted is None or role_allows(role, wanted):
            continue
        for method in WRITES:
            answer = ask(world.browser(role), method, world.address(route))
            assert answer.status_code in {403, 405}, (route.name, method, role)
    assert world.rows() == before


def test_g15_owner_is_refused_nowhere(world: World) -> None:
    for route in TEAM_ROUTES:
        if MATRIX[route.name].write is None:
            continue
        answers = [
            ask(world.browser(Role.OWNER), method, world.address(route)).status_code
            for method in ("POST", "PATCH", "PUT")
        ]
        assert not REFUSED & set(answers), (route.name, answers)


def test_g15_personal_pages_tell_nobody_of_the_team(world: World) -> None:
    for who in PEOPLE:
        for route in PERSONAL:
            if not route.arguments:
                answer = world.browser(who).get(f"/{route.pattern.replace('$', '')}")
                _check_unmarked(route, answer)


@pytest.mark.parametrize("name", SUPERUSERS_ONLY)
def test_g15_pages_about_the_whole_site_are_for_superusers(
    world: World, name: str
) -> None:
    address = reverse(name)
    for who in (*PEOPLE, *Role.values):
        for method in (*READS, *WRITES):
            answer = ask(world.browser(who), method, address)
            assert answer.status_code in {302, 401, 403}, (who, method)
    for key in world.keys:
        for method in (*READS, *WRITES):
            answer = ask(world.program(key), method, address)
            assert answer.status_code in {302, 401, 403}, (key, method)
    for flags, status in (({}, 403), ({"is_superuser": True}, 200)):
        client = Client()
        client.force_login(UserFactory.create(is_staff=True, **flags))
        for method in READS:
            assert ask(client, method, address).status_code == status
        for method in WRITES:
            refused = {302, 400, 403, 405, 409} if flags else {403, 405}
            assert ask(client, method, address).status_code in refused


def _check_role(route: Route, method: str, is_allowed: bool, status: int) -> None:
    what = (route.name, method, status)
    if is_allowed:
        assert status == 200, what
    else:
        assert status == 403, what


def _check_stranger(route: Route, who: str, method: str, answer: Any) -> None:
    what = (route.name, who, method, answer.status_code)
    access: Access = MATRIX[route.name]
    _check_unmarked(route, answer)
    if access.is_open:
        return
    if who == "anonymous":
        assert answer.status_code in TOLD_TO_SIGN_IN, what
    elif who == "former":
        starts_anew = answer.headers.get("Location") == reverse("console:team_create")
        assert starts_anew or answer.status_code in {403, 404, 405}, what
    elif route.arguments and not access.is_common:
        assert answer.status_code in NOT_FOUND, what
    else:
        assert answer.status_code in CREATED_IN_THEIR_OWN | NOT_FOUND, what


def _check_unmarked(route: Route, answer: Any) -> None:
    if route.name in {
        "console:invitation",
        "playground:shared",
        "playground:shared_bare",
    }:
        return  # made to be read by whoever has the link
    body = b"" if answer.streaming else answer.content
    # The address itself may be repeated: who asks knows it already.
    where = answer.headers.get("Location", "")
    assert MARK.encode() not in body, route.name
    assert MARK not in where, route.name
