"""A web process loads what evaluates with the first request for it, not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from apps.console import evaluation_urls, shadow_urls
from apps.rest import urls as rest_urls

LOADED = {
    "apps.evaluation",
    "apps.evaluation.apps",
    "apps.evaluation.jobs",
    "apps.evaluation.models",
    "apps.evaluation.selectors",  # the pages of workers ask whether they are simulated
    "apps.evaluation.shadow",
    "apps.evaluation.shadow.jobs",
    "apps.evaluation.shadow.models",
    "apps.evaluation.reports.statistics",  # intervals of profiles
    "apps.evaluation.reports.system_report",
}
"""What every process has: rows, entry points of jobs, and light figures."""
START = """
import sys
import conductor_site.asgi, conductor_site.urls
from django.core.handlers.asgi import ASGIHandler
from django.urls import resolve, reverse
ASGIHandler()  # the middleware, as before the first request
reverse("console:evaluation_list"), resolve("/runs/")
print(*(name for name in sys.modules if name.startswith("apps.evaluation")))
"""


def test_a_web_process_starts_without_what_evaluates():
    started = subprocess.run(
        [sys.executable, "-c", START], capture_output=True, text=True, check=True
    )
    assert set(started.stdout.splitlines()[-1].split()) == LOADED


@pytest.mark.parametrize(
    "pattern",
    [*evaluation_urls.urlpatterns, *shadow_urls.urlpatterns],
    ids=lambda pattern: pattern.name,
)
def test_every_page_is_there(pattern):
    module = __import__(pattern.callback.__module__, fromlist=["_"])
    assert callable(getattr(module, pattern.callback.__name__))


def test_every_operation_is_there():
    views = [getattr(each.callback, "cls", None) for each in rest_urls.urlpatterns]
    names = {getattr(view, "__name__", "") for view in views}
    assert {"Evaluations", "SuiteTasks", "ShadowTests"} <= names
