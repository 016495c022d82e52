"""The site's own files: their addresses, how long browsers keep them, edits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.templatetags.static import static

from conductor_site.serving.static_files import StaticFiles, StaticFilesApplication
from tests.serving import serving

NAMED = re.compile(r'(?:href|src)="(/static/[^"]+)"')
SHEET = "/static/css/a.css"


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """Stand for all that is not a file of the site."""
    await send({"type": "http.response.start", "status": 404, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def served(folder: Path) -> Iterator[tuple[StaticFiles, httpx.Client]]:
    files = StaticFiles(folder)
    application = StaticFilesApplication(files, nothing)
    with (
        serving(application, lifespan="off") as url,
        httpx.Client(base_url=url) as client,
    ):
        yield files, client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "css/a.css": '@import "b.css";\n',
        "css/b.css": 'b { background: url("../c.svg"); }\n',
        "c.svg": "<svg/>",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_browsers_keep_what_a_page_names(site):
    addresses = NAMED.findall(httpx.get(f"{site.url}/accounts/login/").text)
    own = [address for address in addresses if re.search(r"\.[0-9a-f]{12}\.", address)]
    assert {"/static/mfa/js/webauthn.js"} <= set(addresses) - set(own)
    assert len(own) > 4
    for address in own:
        response = httpx.get(site.url + address)
        assert response.status_code == 200, address
        assert "immutable" in response.headers["cache-control"]


def test_files_of_other_apps_are_served(site):
    for name in ("mfa/js/webauthn.js", "admin/css/base.css"):
        response = httpx.get(f"{site.url}/static/{name}")
        assert response.status_code == 200, name
        assert "immutable" not in response.headers["cache-control"]


def test_pages_name_the_sources_with_debug(settings):
    assert static("js/page.js") != "/static/js/page.js"
    settings.DEBUG = True
    assert static("js/page.js") == "/static/js/page.js"


def test_a_name_without_the_digest_of_today_is_asked_for_again(folder):
    with served(folder) as (files, client):
        current = client.get(f"/static/{files.address_of('css/a.css')}")
        for path in (SHEET, "/static/css/a.0123456789ab.css"):
            response = client.get(path)
            assert response.text == current.text
            assert response.headers["cache-control"] == "no-cache"
            known = {"If-None-Match": response.headers["etag"]}
            assert client.get(path, headers=known).status_code == 304


def test_scripts_and_sheets_are_compressed_for_those_who_take_it(folder):
    (folder / "css/b.css").write_text("b { color: red; }\n" * 100)
    with served(folder) as (_, client):
        plain = client.get(SHEET, headers={"Accept-Encoding": "gzip;q=0, br"})
        packed = client.get(SHEET, headers={"Accept-Encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["vary"] == "accept-encoding"
    assert packed.text == plain.text
    assert int(packed.headers["content-length"]) < len(plain.content) / 4


@pytest.mark.parametrize("path", ["/static/", "/static/../a.css", "/css/a.css"])
def test_other_paths_are_none_of_its_files(folder, path):
    with served(folder) as (_, client):
        assert client.get(path).status_code == 404
        assert client.head(SHEET).content == b""
        assert client.post(SHEET).status_code == 404


def test_an_edit_shows_after_a_restart_and_breaks_nothing_before(folder):
    with served(folder) as (files, client):
        before = client.get(SHEET)
        address = files.address_of("css/a.css")
        (folder / "css/b.css").write_text("b { color: red; } /* and much longer */\n")
        (folder / "c.svg").unlink()
        assert client.get(SHEET).text == before.text
        assert client.get("/static/c.svg").text == "<svg/>"
    with served(folder) as (files, client):
        assert "red" in client.get(SHEET).text
        assert files.address_of("css/a.css") != address


def test_an_address_changes_with_all_that_a_file_leads_to(folder):
    before = StaticFiles(folder).address_of("css/a.css")
    (folder / "c.svg").write_text("<svg></svg>")
    assert StaticFiles(folder).address_of("css/a.css") != before


def test_a_file_that_is_not_there_is_named(folder):
    (folder / "c.svg").unlink()
    with pytest.raises(FileNotFoundError, match=r"css/b\.css names c\.svg"):
        StaticFiles(folder)
