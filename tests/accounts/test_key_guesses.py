"""T5: an address that sends unknown keys is told to stop; valid keys are let in."""

from __future__ import annotations

import httpx
import pytest

from apps.accounts.errors import TooManyGuesses
from apps.accounts.guesses import Guesses
from apps.accounts.keys import key_generate
from apps.core import requesters as module
from apps.core.requesters import WINDOW_S
from tests.conftest import Site


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _three_guesses(settings) -> None:
    settings.UNKNOWN_KEYS_PER_MINUTE = 3


def guess(guesses: Guesses, address: str, count: int = 3) -> None:
    for _ in range(count):
        guesses.note(address)


@pytest.mark.parametrize("path", ["/v1/models", "/api/v1/me/"])
@pytest.mark.parametrize(
    "unknown",
    [
        pytest.param("cdk_no-such-key", id="malformed"),
        pytest.param(key_generate().secret, id="well-formed"),
    ],
)
def test_guesses_are_refused_and_a_valid_key_of_the_same_address_is_not(
    site: Site, path: str, unknown: str
):
    """T5: the flood, and a neighbour behind the same NAT."""

    def ask(key: str) -> httpx.Response:
        return httpx.get(site.url + path, headers={"Authorization": f"Bearer {key}"})

    assert [ask(unknown).status_code for _ in range(4)] == [401, 401, 401, 429]
    refused = ask(unknown)
    assert 0 < int(refused.headers["retry-after"]) <= WINDOW_S
    assert refused.json()["error"]["code"] == "too_many_unknown_keys"
    assert ask(site.key).status_code == 200


def test_request_without_a_key_is_no_guess(site: Site):
    answers = [httpx.get(f"{site.api_url}/models").status_code for _ in range(5)]
    assert set(answers) == {401}


def test_window_ends():
    clock = Clock()
    guesses = Guesses(clock)
    guess(guesses, "192.0.2.1")
    with pytest.raises(TooManyGuesses) as refused:
        guesses.note("192.0.2.1")
    assert refused.value.retry_after_s == WINDOW_S
    clock.now += WINDOW_S
    guess(guesses, "192.0.2.1")


def test_addresses_are_counted_apart():
    guesses = Guesses(Clock())
    guess(guesses, "192.0.2.1")
    guess(guesses, "192.0.2.2")


def test_one_customers_ipv6_addresses_count_as_one():
    guesses = Guesses(Clock())
    guess(guesses, "2001:db8::1")
    with pytest.raises(TooManyGuesses):
        guesses.note("2001:db8::ffff:2")
    guess(guesses, "2001:db8:0:1::1")


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "MAX_ADDRESSES", 100)
    guesses = Guesses(Clock())
    for number in range(1000):
        guesses.note(f"192.0.{number // 250}.{number % 250}")
    assert len(guesses) == 100


def test_limit_of_zero_is_none(settings):
    settings.UNKNOWN_KEYS_PER_MINUTE = 0
    guess(Guesses(Clock()), "192.0.2.1", 100)
