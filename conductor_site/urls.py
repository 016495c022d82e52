"""Addresses of the pages. The API and the sockets are mounted in asgi.py."""

from django.contrib import admin
from django.urls import include, path

from apps.core.views import healthz

urlpatterns = [
    path("accounts/", include("allauth.account.urls")),
    path("healthz", healthz),
    path("admin/", admin.site.urls),
    path("api/v1/", include("apps.rest.urls")),
    path("", include("apps.console.urls")),
    path("", include("apps.playground.urls")),
]
