"""How the product's errors read in a browser."""

import json

import pytest
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client

from apps.core.errors import InvalidInput, NotAllowed, NotFound, Overloaded
from apps.web.middleware import DomainErrorMiddleware


@pytest.fixture
def translate(rf):
    middleware = DomainErrorMiddleware(lambda request: HttpResponse())

    def translate(error, accept="text/html"):
        request = rf.get("/", headers={"Accept": accept})
        return middleware.process_exception(request, error)

    return translate


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidInput("no prompt"), 400),
        (NotAllowed("no prompt"), 403),
        (NotFound("no prompt"), 404),
        (Overloaded("no prompt"), 503),
    ],
)
def test_page_has_the_status_and_the_words(translate, error, status):
    response = translate(error)
    assert response.status_code == status
    assert b"No prompt" in response.content


def test_words_of_an_error_end_with_one_full_stop(translate):
    assert b"<p>No prompt.</p>" in translate(InvalidInput("no prompt")).content
    assert b"<p>No prompt.</p>" in translate(InvalidInput("no prompt.")).content


def test_program_gets_json(translate):
    error = InvalidInput("no prompt", param="prompt")
    response = translate(error, "application/json")
    assert json.loads(response.content)["error"] == {
        "message": "no prompt",
        "code": "invalid_request_error",
        "param": "prompt",
    }


def test_overload_says_when_to_come_back(translate):
    response = translate(Overloaded("full", retry_after_s=5))
    assert response["Retry-After"] == "5"


def test_other_errors_are_left_to_django(translate):
    assert translate(ValueError("a fault of ours")) is None


def test_message_is_escaped(translate):
    assert b"<script>alert" not in translate(NotFound("<script>alert(1)")).content


@pytest.mark.parametrize("name", ["400.html", "500.html"])
def test_error_page_needs_no_context(name):
    assert "Conductor" in render_to_string(name)


def test_a_form_from_elsewhere_is_refused_in_the_sites_own_words(db):
    answer = Client(enforce_csrf_checks=True).post("/accounts/login/", {"login": "x"})
    assert answer.status_code == 403
    assert b"This form cannot be accepted" in answer.content
    assert b"<style" not in answer.content
