"""Addresses of the pages on which a team runs itself."""

from django.urls import include, path

from apps.console.views import palette, places
from apps.web.deferred_views import deferred_page

app_name = "console"
SHORT_ADDRESSES = ("quality", "settings")
"""Places of which no page has the place's own name as its address.

The gateway answers `/chat` and `/models`, which clients without `/v1` ask for.
"""
urlpatterns = [
    path("home/", deferred_page("apps.console.views.home.home"), name="home"),
    path(
        "status/",
        deferred_page("apps.console.views.status.status_page"),
        name="status",
    ),
    path("search/", palette.palette, name="palette"),
    *(
        path(f"{name}/", places.place_page, {"name": name}, name=f"place_{name}")
        for name in SHORT_ADDRESSES
    ),
    path("", include("apps.console.people_urls")),
    path("alerts/", include("apps.console.alerts.urls")),
    path("", include("apps.console.presets.urls")),
    path("", include("apps.console.pool_urls")),
    path("", include("apps.console.evaluation_urls")),
    path("", include("apps.console.shadow_urls")),
    path("", include("apps.console.insight_urls")),
    path("", include("apps.console.ab_urls")),
]
