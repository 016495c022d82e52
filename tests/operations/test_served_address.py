"""Links lead to the port that a process serves, while no other address is set."""

from __future__ import annotations

import os
import re
from pathlib import Path

import httpx
import pytest

from conductor_site.serving.address import note_served_address, served_url
from tests.patience import PATIENCE_S
from tests.processes.site import Home


@pytest.mark.parametrize(
    ("host", "port", "url"),
    [
        ("127.0.0.1", 8870, "http://127.0.0.1:8870"),
        ("0.0.0.0", 8870, "http://127.0.0.1:8870"),
        ("::", 8870, "http://[::1]:8870"),
        ("::1", 8870, "http://[::1]:8870"),
        ("conductor.internal", 80, "http://conductor.internal"),
    ],
)
def test_served_address_is_one_that_a_link_can_name(
    monkeypatch: pytest.MonkeyPatch, host: str, port: int, url: str
) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    note_served_address(host, port)
    assert served_url() == url


def test_a_process_that_serves_nothing_names_the_usual_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {})
    assert served_url() == "http://127.0.0.1:8000"


@pytest.mark.slow
def test_mails_and_answers_name_the_port_that_is_served(
    tmp_path: Path, simulator_url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    values = {"CONDUCTOR_URL": "", "SIGN_UP": "open", "EMAIL_VERIFICATION": "mandatory"}
    home = Home(tmp_path, simulator_url, **values)
    with home.serving() as web, home.client(web.url) as client:
        order = {"model": "conductor-mini", "prompt": "Hello", "background": True}
        made = client.post("/api/v1/runs/", json=order)
        assert made.status_code == 201, made.text
        assert made.headers["Location"].startswith(f"{web.url}/")
        sign_up(web.url)
    # Without a mail server mails are printed.
    [link] = re.findall(r"http://\S+/accounts/confirm-email/", capfd.readouterr().out)
    assert link == f"{web.url}/accounts/confirm-email/"


def sign_up(url: str) -> None:
    with httpx.Client(base_url=url, timeout=PATIENCE_S) as browser:
        browser.get("/accounts/signup/")
        form = {
            "email": "nell@example.org",
            "name": "Nell",
            "password1": "a long pass phrase",
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }
        assert browser.post("/accounts/signup/", data=form).status_code == 302
