"""A web process loads what evaluates with the first request for it, not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from apps.console import ab_urls, evaluation_urls, insight_urls, shadow_urls
from apps.rest import urls as rest_urls

DEFERRED = {
    "apps.evaluation.driver",
    "apps.evaluation.code_grading",
    "apps.evaluation.grading",
    "apps.evaluation.reports.comparison",
    "apps.evaluation.reports.inspect_log",
    "apps.evaluation.reports.report",
    "apps.evaluation.sandbox.launcher",
    "apps.evaluation.ab.report",
}
"""What drives, grades and reports. Kinds of systems are there from the start: an A/B
test decides on the path of each request."""
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
    loaded = set(started.stdout.splitlines()[-1].split())
    assert "apps.evaluation.models" in loaded
    assert not loaded & DEFERRED


@pytest.mark.parametrize(
    "pattern",
    [
        *evaluation_urls.urlpatterns,
        *shadow_urls.urlpatterns,
        *ab_urls.urlpatterns,
        *insight_urls.urlpatterns,
    ],
    ids=lambda pattern: pattern.name,
)
def test_every_page_is_there(pattern):
    module = __import__(pattern.callback.__module__, fromlist=["_"])
    assert callable(getattr(module, pattern.callback.__name__))


def test_every_operation_is_there():
    views = [getattr(each.callback, "cls", None) for each in rest_urls.urlpatterns]
    names = {getattr(view, "__name__", "") for view in views}
    assert {"Evaluations", "SuiteTasks", "ShadowTests"} <= names
