"""Addresses of the pages. API, sockets and health are mounted in asgi.py."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from apps.web.team_access import operators_only

# The admin's own sign-in knows of no second factor, and Django's refusal does not say
# that roles in teams have nothing to do with it.
admin.site.login = operators_only(  # type: ignore[assignment, method-assign]
    secure_admin_login(admin.site.login)
)

urlpatterns = [
    path("", include("apps.web.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("apps.rest.urls")),
    path("", include("apps.console.urls")),
    path("", include("apps.playground.urls")),
]
handler400 = "apps.rest.error_handlers.bad_request"
handler500 = "apps.rest.error_handlers.server_error"
