"""Addresses of the pages about people, keys, budgets and usage."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
