"""Addresses of comparisons in the REST API."""

from __future__ import annotations

from django.urls import URLPattern, path

from apps.web.deferred_views import DeferredOperations


def _deferred(name: str) -> DeferredOperations:
    """Return operations that are imported when asked for."""
    return DeferredOperations(f"apps.rest.resources.{name}")


urlpatterns: list[URLPattern] = [
    path(
        "comparisons/",
        _deferred("comparisons.operations.Comparisons"),
        name="comparisons",
    ),
    path(
        "comparisons/candidates/",
        _deferred("comparisons.operations.ComparisonCandidates"),
        name="comparison_candidates",
    ),
    path(
        "comparisons/<uuid:comparison_id>/",
        _deferred("comparisons.operations.OneComparison"),
        name="comparison",
    ),
    path(
        "comparisons/<uuid:comparison_id>/vote/",
        _deferred("comparisons.operations.ComparisonVotes"),
        name="comparison_vote",
    ),
    path(
        "comparisons/<uuid:comparison_id>/judge/",
        _deferred("comparisons.operations.ComparisonJudge"),
        name="comparison_judge",
    ),
]
