"""Websocket routes of comparisons."""

from typing import Any

from django.urls import path

from apps.comparisons.consumers import watch_comparison

_watch_comparison: Any = watch_comparison  # Django's `path` knows of views alone

websocket_urlpatterns = [
    path("ws/comparisons/<uuid:comparison_id>/", _watch_comparison)
]
