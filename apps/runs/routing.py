"""Websocket routes."""

from typing import Any

from django.urls import path

from apps.runs.consumers import watch_run

_watch_run: Any = watch_run  # Django's `path` knows of views alone

websocket_urlpatterns = [path("ws/runs/<uuid:run_id>/", _watch_run)]
