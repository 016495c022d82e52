"""Where scikit-learn is missing, every way to train says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client

from apps.runs.models import Run
from tests.conftest import Site
from tests.evaluation.samples import command, suite
from tests.patience import eventually
from tests.rest.conftest import member
from tests.training.test_trainings import SMALL, pool_of, tasks

pytestmark = pytest.mark.slow

INSTALL = "scikit-learn is not installed here: install requirements/learning.txt"
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError("No module named 'sklearn'", name="sklearn")

sys.meta_path.insert(0, Blocked())
"""
START = """
import sys
import conductor_site.asgi, conductor_site.urls
from django.core.handlers.asgi import ASGIHandler
from django.urls import resolve, reverse
ASGIHandler()
reverse("console:learning"), resolve("/runs/")
print(*(name for name in sys.modules if name.partition(".")[0] in ("sklearn", "scipy")))
"""


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process, which drives trainings, find no scikit-learn."""
    monkeypatch.setitem(sys.modules, "sklearn", None)


@pytest.fixture
def ready(site: Site) -> Site:
    pool_of(site)
    suite(site.cast.team, tasks())
    return site


def ended(site: Site, address: str) -> dict[str, Any]:
    alice = member(site.cast.alice)
    assert eventually(lambda: alice.get(address).json()["state"] == "failed")
    found: dict[str, Any] = alice.get(address).json()
    return found


def test_the_command_says_what_to_install(ready, without):
    with pytest.raises(CommandError, match=INSTALL):
        command("planner_train", "basics", "--team", ready.cast.team.slug)
    assert not Run.objects.for_team(ready.cast.team.id).exists()  # nothing was paid for


def test_rest_and_the_page_say_what_to_install(ready, without):
    body = {"suite": "basics", "settings": SMALL}
    answer = member(ready.cast.alice).post("learning/trainings/", body)
    training_id = answer.json()["id"]
    found = ended(ready, f"learning/trainings/{training_id}/")
    assert found["error"] == INSTALL
    assert found["exploration_id"] is None
    browser = Client()
    browser.force_login(ready.cast.alice)
    page = browser.get(f"/learning/trainings/{training_id}/").content.decode()
    assert f"S{INSTALL[1:]}." in page


def test_a_fit_whose_own_process_lacks_it_says_so(ready, monkeypatch, tmp_path: Path):
    (tmp_path / "sitecustomize.py").write_text(BLOCKED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    settings = {**SMALL, "explore_runs": 6}
    body = {"suite": "basics", "settings": settings}
    answer = member(ready.cast.alice).post("learning/trainings/", body)
    found = ended(ready, f"learning/trainings/{answer.json()['id']}/")
    assert found["error"] == INSTALL
    assert found["version"] is None


def test_a_web_process_starts_without_it():
    started = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, check=True
    )
    assert started.stdout.strip() == ""
