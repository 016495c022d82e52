"""A web process loads what evaluates with the first request for it, not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from apps.console import (
    ab_urls,
    evaluation_urls,
    insight_urls,
    pool_urls,
    shadow_urls,
)
from apps.playground import urls as playground_urls
from apps.rest import urls as rest_urls

pytestmark = pytest.mark.slow

EVALUATION = "apps.evaluation"
LOADED = {
    f"{EVALUATION}{module}"
    for module in (
        "",
        ".ab",
        ".ab.arms",
        ".ab.jobs",
        ".ab.models",
        ".ab.types",
        ".apps",
        ".candidate_tests",
        ".job_sharing",
        ".jobs",
        ".models",
        ".opinions",
        ".production",
        ".production.counting",
        ".production.models",
        ".selectors",
        ".shadow",
        ".shadow.jobs",
        ".shadow.models",
    )
}
"""Models, what is asked of each request, and what looks whether there is work. None of
it knows the kinds of systems and verifiers, or a sandbox."""
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
    assert f"{EVALUATION}.models" in loaded
    assert loaded <= LOADED


@pytest.mark.parametrize(
    "pattern",
    [
        *evaluation_urls.urlpatterns,
        *shadow_urls.urlpatterns,
        *ab_urls.urlpatterns,
        *insight_urls.urlpatterns,
        *pool_urls.urlpatterns,
        *playground_urls.urlpatterns,
    ],
    ids=lambda pattern: pattern.name,
)
def test_every_page_is_there(pattern):
    module = __import__(pattern.callback.__module__, fromlist=["_"])
    assert callable(getattr(module, pattern.callback.__name__))


def test_every_operation_is_there():
    views = [getattr(each.callback, "cls", None) for each in rest_urls.urlpatterns]
    names = {getattr(view, "__name__", "") for view in views}
    assert {"Evaluations", "SuiteTasks", "ShadowTests", "InsightPlans"} <= names
