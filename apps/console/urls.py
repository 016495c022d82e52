"""Addresses of the pages on which a team runs itself."""

from django.urls import include, path

app_name = "console"
urlpatterns = [
    path("", include("apps.console.people_urls")),
    path("", include("apps.console.pool_urls")),
    path("", include("apps.console.evaluation_urls")),
    path("", include("apps.console.shadow_urls")),
    path("", include("apps.console.insight_urls")),
    path("", include("apps.console.ab_urls")),
]
