"""Addresses of the pages of presets."""

from __future__ import annotations

from django.urls import path

from apps.console.presets import views

ONE = "presets/<uuid:preset_id>/"
urlpatterns = [
    path("presets/", views.preset_list_page, name="preset_list"),
    path("presets/new/", views.preset_new, name="preset_new"),
    path("presets/from-prompt/", views.preset_from_prompt, name="preset_from_prompt"),
    path(ONE, views.preset_page, name="preset"),
    path(f"{ONE}edit/", views.preset_edit, name="preset_edit"),
    path(f"{ONE}share/", views.preset_share, name="preset_share"),
    path(f"{ONE}archive/", views.preset_archive, name="preset_archive"),
    path(f"{ONE}copy/", views.preset_copy_view, name="preset_copy"),
    path(f"{ONE}delete/", views.preset_remove, name="preset_delete"),
    path(
        f"{ONE}versions/<int:number>/",
        views.preset_version_page,
        name="preset_version",
    ),
    path(
        f"{ONE}versions/<int:number>/restore/",
        views.preset_restore_view,
        name="preset_restore",
    ),
]
