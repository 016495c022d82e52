"""The playground's own script stays small; libraries come only when they are needed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

pytestmark = pytest.mark.django_db
MOST_BYTES = 150_000
SOURCE = re.compile(r'<script[^>]* src="/static/([^"]+)"')
IMPORT = re.compile(r'^import[^"]*"(\./[^"]+)";$', re.MULTILINE)


def loaded_by(page: str) -> set[Path]:
    """Return every file of script that a page loads at once."""
    waiting = [Path(str(finders.find(name))) for name in SOURCE.findall(page)]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop().resolve()
        if path not in found:
            found.add(path)
            waiting += [path.parent / name for name in IMPORT.findall(path.read_text())]
    return found


def test_script_of_the_playground_is_small(client, cast):
    client.force_login(cast.alice)
    files = loaded_by(client.get("/").content.decode())
    assert {"playground.js", "live-prose.js", "page.js"} <= {p.name for p in files}
    assert not [path for path in files if "vendor" in path.parts]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
