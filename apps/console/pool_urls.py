"""Addresses of the pages about pools, workers, conductors and credentials.

Those of pools and workers show what was measured, and are imported when asked for.
"""

from __future__ import annotations

from django.urls import path

from apps.console.views import conductors, credentials
from apps.web.deferred_views import Page, deferred_page


def _page(name: str) -> Page:
    return deferred_page(f"apps.console.views.{name}")


def _setup(name: str) -> Page:
    return deferred_page(f"apps.console.setup.views.{name}")


urlpatterns = [
    path("setup/", _setup("setup_page"), name="setup"),
    path(
        "setup/connect/",
        deferred_page("apps.console.setup.connect.setup_connect"),
        name="setup_connect",
    ),
    path("setup/models/", _setup("setup_models_page"), name="setup_models"),
    path("setup/dismiss/", _setup("setup_dismiss"), name="setup_dismiss"),
    path("pools/", _page("pools.pool_list_page"), name="pool_list"),
    path("pools/new/", _page("pools.pool_new"), name="pool_new"),
    path("pools/start/", _page("pools.pool_start_view"), name="pool_start"),
    path("pools/<uuid:pool_id>/", _page("pools.pool_page"), name="pool"),
    path(
        "pools/<uuid:pool_id>/history/",
        _page("pools.pool_history"),
        name="pool_history",
    ),
    path(
        "pools/<uuid:pool_id>/history/<int:version>/restore/",
        _page("pools.pool_restore"),
        name="pool_restore",
    ),
    path(
        "pools/<uuid:pool_id>/delete/", _page("pools.pool_remove"), name="pool_delete"
    ),
    path("workers/", _page("workers.worker_list_page"), name="worker_list"),
    path("workers/new/", _page("workers.worker_new"), name="worker_new"),
    path("workers/<uuid:worker_id>/", _page("workers.worker_page"), name="worker"),
    path(
        "workers/<uuid:worker_id>/test/",
        _page("workers.worker_test_view"),
        name="worker_test",
    ),
    path(
        "workers/<uuid:worker_id>/list-price/",
        _page("workers.worker_price_adopt"),
        name="worker_list_price",
    ),
    path(
        "workers/<uuid:worker_id>/abilities/",
        _page("workers.worker_abilities_adopt"),
        name="worker_abilities",
    ),
    path(
        "workers/<uuid:worker_id>/delete/",
        _page("workers.worker_remove"),
        name="worker_delete",
    ),
    path("conductors/", conductors.conductor_list_page, name="conductor_list"),
    path("conductors/new/", conductors.conductor_new, name="conductor_new"),
    path(
        "conductors/<uuid:conductor_id>/", conductors.conductor_page, name="conductor"
    ),
    path(
        "conductors/<uuid:conductor_id>/test/",
        conductors.conductor_test_view,
        name="conductor_test",
    ),
    path(
        "conductors/<uuid:conductor_id>/server/",
        conductors.conductor_server,
        name="conductor_server",
    ),
    path(
        "conductors/<uuid:conductor_id>/delete/",
        conductors.conductor_remove,
        name="conductor_delete",
    ),
    path("credentials/", credentials.credential_list_page, name="credential_list"),
    path("credentials/new/", credentials.credential_new, name="credential_new"),
    path(
        "credentials/<uuid:credential_id>/",
        credentials.credential_page,
        name="credential",
    ),
    path(
        "credentials/<uuid:credential_id>/delete/",
        credentials.credential_remove,
        name="credential_delete",
    ),
]
