"""Addresses of the pages about pools, workers and credentials."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
