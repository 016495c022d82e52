"""The site operator's view of people and teams.

Teams and memberships are read-only here: they change through services alone, because
a change without its ledger entry must not exist.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest

from apps.accounts.models import Membership, Team, User


class LowerCaseEmailField(forms.EmailField):
    """Takes an address in any case and keeps it in lower case."""

    def clean(self, value: Any) -> str:
        """Return the address in lower case."""
        cleaned: str = super().clean(value)
        return cleaned.lower()


class UserCreation(AdminUserCreationForm):  # type: ignore[type-arg]
    """Asks for an e-mail address and, optionally, a password."""

    class Meta:
        model = User
        fields = ("email", "name")
        field_classes = {"email": LowerCaseEmailField}


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]
    """Creates and deactivates people."""

    add_form = UserCreation
    ordering = ("email",)
    list_display = ("email", "name", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff")
    search_fields = ("email", "name")
    filter_horizontal = ()
    readonly_fields = ("last_login", "created_at")
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("May do", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Dates", {"fields": ("last_login", "created_at")}),
    )
    add_fieldsets = (
        (
            None,
            {"fields": ("email", "name", "usable_password", "password1", "password2")},
        ),
    )


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Shows rows; changes nothing."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: services add rows."""
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> bool:
        """Refuse: services change rows."""
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> bool:
        """Refuse: services delete rows."""
        return False


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    """Lists teams."""

    list_display = ("name", "slug", "created_at")
    search_fields = ("name", "slug")


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """Lists who is in which team."""

    list_display = ("team", "user", "role", "created_at")
    list_filter = ("role",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Return the memberships of every team: the operator may see them."""
        return Membership.objects.across_teams().select_related("team", "user")
