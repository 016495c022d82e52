"""The playground's own script stays small; libraries come only when they are needed."""

from __future__ import annotations

import re

import httpx
import pytest

pytestmark = pytest.mark.django_db
MOST_BYTES = 160_000
"""Of all scripts, before compression."""
SOURCE = re.compile(r'<script[^>]* src="(/static/[^"]+)"')


def test_script_of_the_playground_is_small(client, site):
    client.force_login(site.cast.alice)
    addresses = SOURCE.findall(client.get("/").content.decode())
    assert [re.split(r"[/.]", address)[3] for address in addresses] == [
        "theme",
        "page",
        "playground",
    ]
    scripts = [httpx.get(site.url + address).text for address in addresses]
    assert "function setUpPalette(" in scripts[1]
    assert "class LiveProse" in scripts[2]
    assert not [script for script in scripts if "highlight.js" in script[:1000]]
    assert sum(map(len, scripts)) <= MOST_BYTES
