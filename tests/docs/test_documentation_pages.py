"""The documentation as pages of the site."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.rest.answer_endpoints import ANSWER_ENDPOINTS
from apps.web.documentation.library import GROUPS, doc_groups, doc_list
from tests.console.conftest import browser_of, text_of
from tests.security.routes import gateway_routes


@pytest.fixture
def vera(cast: Any) -> Client:
    return browser_of(cast.vera)


def test_every_page_is_listed_once():
    listed = [doc.name for _, docs in doc_groups() for doc in docs]
    assert sorted(listed) == sorted(doc_list())
    assert set().union(*GROUPS.values()) <= set(listed)


def test_every_page_has_its_headings_and_links_that_lead_somewhere(vera: Client):
    pages = {name: text_of(vera.get(f"/docs/{name}/")) for name in doc_list()}
    ids = {
        name: set(re.findall(r'<h[1-6] id="([^"]*)"', page))
        for name, page in pages.items()
    }
    for name, doc in doc_list().items():
        assert {each.anchor for each in doc.headings} <= ids[name], name
    for name, page in pages.items():
        for link in re.findall(r'href="/docs/([^"]+)/(?:#([^"]*))?"', page):
            assert link[0] in ids, (name, link)
            assert not link[1] or link[1] in ids[link[0]], (name, link)


def test_list_leads_to_the_pages(vera: Client):
    page = text_of(vera.get("/docs/"))
    assert 'href="/docs/clients/curl/"' in page
    assert 'href="/docs/changes/"' in page


@pytest.mark.parametrize("name", ["nothing", "../README", "..%2Fmanage", "api.md"])
def test_no_other_file_is_served(vera: Client, name: str):
    assert vera.get(f"/docs/{name}/").status_code == 404


def test_anonymous_signs_in_first(client: Client, db: None):
    assert client.get("/docs/api/").status_code == 302


def test_header_names_the_team_and_the_version(vera: Client):
    page = text_of(vera.get("/docs/api/"))
    assert '<span class="menu__team"><bdi>Orchestra</bdi></span>' in page
    assert "Version 0.1.0" in page


def test_reference_lists_what_the_gateway_answers():
    listed = {each for group in ANSWER_ENDPOINTS for each in group.requests}
    paths = {each.split(" ")[1] for each in listed}
    assert paths == {path.replace(":path}", "}") for path in gateway_routes()}
    assert {group.doc for group in ANSWER_ENDPOINTS} <= set(doc_list())
