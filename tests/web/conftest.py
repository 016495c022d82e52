"""People with a browser, as the pages of all apps know them."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.conftest import Cast


@pytest.fixture
def alice(cast: Cast) -> Client:
    """An owner who has chosen no language."""
    browser = Client()
    browser.force_login(cast.alice)
    return browser


@pytest.fixture
def german(cast: Cast) -> Client:
    """The same person, who has chosen German and writes from a German browser."""
    cast.alice.language = "de"
    cast.alice.save(update_fields=["language"])
    browser = Client(headers={"Accept-Language": "de"})
    browser.force_login(cast.alice)
    return browser
