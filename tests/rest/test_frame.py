"""What holds for every address: one error shape, headers, who gets in, what is read."""

from __future__ import annotations

import time
import uuid

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import get_resolver

from apps.accounts.models import Scope, Team
from apps.rest import urls as rest_urls
from apps.rest.resources import members as members_module
from apps.rest.views import RestView
from apps.web import middleware as web_middleware
from tests.conftest import membership
from tests.rest.conftest import Caller, fault, keyed, member, program


def test_a_stranger_is_told_how_to_be_known(stranger, cast):
    response = stranger.get("team/")
    assert fault(response, 401)["code"] == "not_authenticated"
    assert response["WWW-Authenticate"] == 'Bearer realm="conductor"'


@pytest.mark.parametrize(
    "header", ["Basic YTpi", "Bearer", "Bearer ", "cdk_x", "Bearer " + "x" * 300]
)
def test_a_header_without_a_key_is_refused(cast, header):
    caller = Caller(Client(), {"Authorization": header})
    assert fault(caller.get("team/"), 401)["code"] == "invalid_api_key"


def test_a_bad_key_does_not_fall_back_to_the_session(alice, cast):
    response = alice.get("team/", Authorization="Bearer cdk_nonsense")
    assert fault(response, 401)["code"] == "invalid_api_key"


def test_a_revoked_key_is_refused(cast):
    caller = program(cast.key.secret)
    cast.key.row.revoked_at = cast.key.row.created_at
    cast.key.row.save()
    assert "revoked" in fault(caller.get("team/"), 401)["message"]


def test_a_remembered_key_of_a_deleted_team_is_refused(cast):
    caller = program(cast.key.secret)
    assert caller.get("team/").status_code == 200
    # As another process does it: this one hears of it when it forgets the key.
    Team.objects.filter(id=cast.team.id).delete()
    assert "deleted" in fault(caller.get("team/"), 401)["message"]


def test_a_session_must_prove_that_it_writes_from_our_pages(cast):
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    response = Caller(client).patch("team/", {"name": "Choir"})
    assert fault(response, 403)["code"] == "csrf_failed"


def test_what_a_session_sends_with_that_proof_is_read(cast):
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    client.get("/account/")
    token = client.cookies["csrftoken"].value
    response = Caller(client, {"X-CSRFToken": token}).post("keys/", {"name": "Mine"})
    assert (response.status_code, response.json().get("name")) == (201, "Mine")


def test_a_session_may_read_without_that_proof(cast):
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.alice)
    assert Caller(client).get("team/").status_code == 200


def test_a_former_member_is_out_at_once(cast):
    bob = member(cast.bob)
    membership(cast.team, cast.bob).delete()
    assert fault(bob.get("team/"), 403)["message"].startswith("you are in no team")


def test_a_deactivated_person_is_out_at_once(cast):
    bob = member(cast.bob)
    cast.bob.is_active = False
    cast.bob.save()
    fault(bob.get("team/"), 401)


@pytest.mark.parametrize("name", ["others", "nobody", "a\u00e9", "x" * 200, "%00"])
def test_a_team_that_is_not_ones_own_is_not_found(alice, name):
    fault(alice.get("team/", X_Team=name), 404)


def test_a_key_speaks_for_its_own_team_alone(cast):
    caller = program(cast.key.secret)
    assert caller.get("team/", X_Team="orchestra").status_code == 200
    assert caller.get("team/", X_Team=str(cast.team.id)).status_code == 200
    fault(caller.get("team/", X_Team="others"), 404)


def test_the_team_can_be_named_by_id_and_by_slug(alice, cast):
    for name in ("orchestra", str(cast.team.id)):
        assert alice.get("team/", X_Team=name).json()["slug"] == "orchestra"


@pytest.mark.parametrize(
    "path", ["", "nothing/", "keys/not-an-id/", "a.json", "a%0Ab/", "%00", "%FF/"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_what_is_not_there_is_told_in_the_same_shape(alice, path, method):
    assert fault(alice.call(method, path), 404)["code"] == "not_found"


def test_a_missing_slash_is_pointed_out(alice):
    assert "end with a slash" in fault(alice.get("team"), 404)["message"]


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "TRACE", "BREW"])
def test_a_method_that_is_not_there_is_told_with_those_that_are(alice, method):
    response = alice.call(method, "team/")
    assert fault(response, 405)["code"] == "method_not_allowed"
    assert set(response["Allow"].split(", ")) == {"GET", "PATCH", "DELETE", "HEAD"}


def test_head_is_answered_like_get_without_a_body(alice):
    response = alice.call("HEAD", "team/")
    assert (response.status_code, response.content) == (200, b"")


@pytest.mark.parametrize("accept", ["text/html", "image/png", "nonsense", "*/*;q=2"])
def test_whatever_a_client_likes_it_gets_json(alice, accept):
    response = alice.get("team/", Accept=accept)
    assert response["Content-Type"] == "application/json"


def test_answers_are_never_cached_and_carry_the_request_id(alice):
    response = alice.get("team/", X_Request_Id="abc-1")
    assert response["Cache-Control"] == "no-store"
    assert response["X-Request-Id"] == "abc-1"


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "é"])
def test_a_strange_request_id_is_replaced(alice, given):
    answered = alice.get("team/", X_Request_Id=given)["X-Request-Id"]
    assert len(answered) == 32


def test_errors_carry_the_request_id_too(stranger, cast):
    response = stranger.get("nothing/", X_Request_Id="abc-2")
    assert response["X-Request-Id"] == "abc-2"


BAD_BODIES = {
    "not json": b"{",
    "a list": b"[]",
    "a text": b'"name"',
    "not utf-8": b'{"name": "\xff"}',
    "a lone surrogate": b'{"name": "\\ud800"}',
    "a name twice": b'{"name": "a", "name": "b"}',
    "a name twice, deep down": b'{"name": {"a": 1, "a": 2}}',
    "no number": b'{"name": NaN}',
    "infinity": b'{"name": -Infinity}',
    "a number beyond all bounds": b'{"name": 1e999}',
    "a huge whole number": b'{"name": ' + b"9" * 5000 + b"}",
    "a deep list": b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a deep object": b'{"name": ' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
    "a byte order mark": b'\xef\xbb\xbf{"name": "a"}',
    "nul in a text": b'{"name": "a\\u0000b"}',
    "nul in a name": b'{"na\\u0000me": "b"}',
    "a number for a text": b'{"name": 5}',
    "an object for a text": b'{"name": {}}',
    "nothing for a text": b'{"name": null}',
    "a text for a number": b'{"requests_per_minute": "5"}',
    "a truth value for a number": b'{"requests_per_minute": true}',
    "a fraction for a whole number": b'{"requests_per_minute": 5.0}',
    "a number too large for the database": b'{"requests_per_minute": 1e12}',
    "a whole number too large": b'{"requests_per_minute": 9223372036854775808}',
    "nothing to change": b"{}",
    "no body": b"",
    "an unknown field": b'{"slug": "mine"}',
    "a foreign id": b'{"id": "0199c0de-0000-7000-8000-000000000003", "name": "x"}',
}


@pytest.mark.parametrize("raw", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_bad_body_is_refused_and_nothing_is_saved(alice, cast, raw):
    fault(alice.patch("team/", raw), 400)
    cast.team.refresh_from_db()
    assert (cast.team.name, cast.team.slug) == ("Orchestra", "orchestra")


def test_every_fault_of_a_body_is_told_by_field(alice):
    body = {"name": "", "requests_per_minute": 0, "slug": "mine"}
    error = fault(alice.patch("team/", body), 400)
    assert error["fields"] == {"slug": ["there is no such field"]}
    del body["slug"]
    error = fault(alice.patch("team/", body), 400)
    assert error["fields"].keys() == {"name", "requests_per_minute"}
    assert error["param"] == "name"


@pytest.mark.parametrize("names", [9_000, 200_000])
def test_many_names_that_nobody_knows_cost_little(alice, names):
    body = {f"x{number}": 1 for number in range(names)}
    begun = time.process_time()
    refused = alice.post("pools/", body)
    assert time.process_time() - begun < 1.0
    assert refused.status_code == 400
    assert len(refused.content) < 10_000


def test_a_name_that_is_there_twice_is_found_in_linear_time(alice):
    names = ",".join(f'"x{number}":1' for number in range(9_000))
    begun = time.process_time()
    refused = alice.post("pools/", f'{{{names},"z":1,"z":1}}'.encode())
    assert time.process_time() - begun < 0.5
    assert "'z' is there twice" in fault(refused, 400)["message"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_body_of_another_kind_is_refused(alice, kind):
    url = "/api/v1/invitations/"
    response = alice.client.generic("POST", url, b"email=a", content_type=kind)
    assert fault(response, 415)["code"] == "unsupported_media_type"


def test_a_packed_body_is_refused(alice):
    fault(alice.patch("team/", {"name": "x"}, Content_Encoding="gzip"), 415)


def test_a_body_that_is_too_large_is_refused(alice, settings):
    settings.MAX_FORM_BYTES = 100
    error = fault(alice.patch("team/", {"name": "x" * 200}), 413)
    assert error["code"] == "payload_too_large"


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=",
        "cursor=",
        "cursor=%00",
        "cursor=%F0%9F%8E%BB",
        "cursor=aTEy",
        "cursor=cA",
        "cursor=" + "A" * 101,
        "order=name",
    ],
)
def test_a_bad_place_in_a_list_is_refused(alice, query):
    assert fault(alice.get(f"members/?{query}"), 400)["param"]


def test_a_list_comes_in_pages(alice):
    seen, cursor, pages = [], "", 0
    while cursor is not None:
        page = alice.get(f"members/?limit=2{cursor and '&cursor=' + cursor}").json()
        seen += [each["name"] for each in page["data"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert (seen, pages) == (["Alice", "Bob", "Vera"], 2)


def test_a_fault_of_ours_is_logged_and_tells_nothing(alice, monkeypatch, caplog):
    def fail(team_id: uuid.UUID) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(members_module, "member_list", fail)
    response = alice.get("members/", X_Request_Id="lost-1")
    assert fault(response, 500)["code"] == "internal_error"
    assert b"secret" not in response.content
    assert "lost-1" in caplog.text and "secret detail" in caplog.text


def test_a_database_that_is_away_is_told_with_when_to_come_back(alice, monkeypatch):
    def fail(team_id: uuid.UUID) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(members_module, "member_list", fail)
    response = alice.get("members/")
    fault(response, 503)
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize("host", ["a b", "elsewhere.example", "{", "x" * 300])
def test_a_host_that_is_not_ours_is_told_in_the_same_shape(alice, host):
    assert fault(alice.get("team/", Host=host), 400)["param"] is None
    page = alice.get("/accounts/login/", Host=host)
    assert page.status_code == 400 and b"<html" in page.content


def test_a_fault_before_the_view_is_told_in_the_same_shape(cast, monkeypatch):
    def fail(request: object) -> bool:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(web_middleware, "_lacks_second_factor", fail)
    client = Client(raise_request_exception=False)
    assert fault(Caller(client).get("team/"), 500)["code"] == "internal_error"
    page = Caller(client).get("/runs/")
    assert page.status_code == 500 and b"secret" not in page.content


def views() -> list[type]:
    found = []
    for pattern in rest_urls.urlpatterns:
        view = getattr(pattern.callback, "cls", None)
        is_of_teams = not getattr(view, "is_for_operators", False)
        if view is not None and view.permission_classes and is_of_teams:
            found.append(view)
    return found


@pytest.mark.parametrize("view", views(), ids=lambda view: view.__name__)
def test_every_operation_names_its_right(view):
    assert issubclass(view, RestView)
    methods = {m for m in view.http_method_names if hasattr(view, m)} - {"head"}
    assert {m.upper() for m in methods} == set(view.rights)


def test_the_api_is_mounted_where_the_documentation_says():
    assert get_resolver().resolve("/api/v1/team/").view_name == "rest:team"


def test_a_key_without_the_scope_is_told_which_one_it_lacks(cast):
    caller = keyed(cast.team, Scope.RUN)
    assert "'members:read'" in fault(caller.get("members/"), 403)["message"]
