"""The site operator's view of people, teams and keys.

People can be made, changed and switched off here. The rest is read-only: it changes
through services alone. Second factors and connections of accounts are not shown.
"""

from __future__ import annotations

from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import (
    AdminPasswordChangeForm,
    UserChangeForm,
    UserCreationForm,
)

from apps.accounts.models import ApiKey, Invitation, Membership, Team, User
from apps.core.read_only_admin import ReadOnlyAdmin

for _model in (
    Group,  # permissions come from roles in teams
    EmailAddress,
    Authenticator,
    SocialAccount,
    SocialApp,
    SocialToken,
    UserSession,
):
    if admin.site.is_registered(_model):
        admin.site.unregister(_model)


class LowerCaseEmailField(forms.EmailField):
    """Takes an address in any case and keeps it in lower case."""

    def clean(self, value: Any) -> str:
        """Return the address in lower case."""
        cleaned: str = super().clean(value)
        return cleaned.lower()


class UserCreation(UserCreationForm):  # type: ignore[misc]
    """Asks for an email address and, optionally, a password."""

    class Meta:
        model = User
        fields = ("email", "name")
        field_classes = {"email": LowerCaseEmailField}


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]
    """Creates people, switches them off, and helps who lost a second factor."""

    form = UserChangeForm
    add_form = UserCreation
    change_password_form = AdminPasswordChangeForm
    actions = ("remove_second_factors",)
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

    def has_delete_permission(
        self, request: HttpRequest, obj: User | None = None
    ) -> bool:
        """Refuse: memberships end through services. An account can be switched off."""
        return False

    @admin.action(description="Remove second factors", permissions=["change"])
    def remove_second_factors(
        self, request: HttpRequest, queryset: QuerySet[User]
    ) -> None:
        """Let people back in who lost their device and their recovery codes."""
        Authenticator.objects.filter(user__in=queryset).delete()
        for user in queryset:
            self.log_change(request, user, "Removed second factors.")
        people = ", ".join(user.email for user in queryset)
        messages.success(request, f"Without a second factor now: {people}")


@admin.register(Team)
class TeamAdmin(ReadOnlyAdmin):
    """Lists teams."""

    list_display = ("name", "slug", "created_at")
    search_fields = ("name", "slug")
    exclude = ("members",)


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    """Lists who is in which team."""

    list_display = ("team", "user", "role", "created_at")
    list_select_related = ("team", "user")
    list_filter = ("role",)
    search_fields = ("team__name", "user__email")


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    """Lists who is invited; shows no link."""

    list_display = ("email", "team", "role", "expires_at", "accepted_at", "revoked_at")
    list_select_related = ("team",)
    list_filter = ("role",)
    search_fields = ("email", "team__name")
    exclude = ("digest",)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Lists API keys; shows neither the key nor its digest."""

    list_display = (
        "name",
        "team",
        "prefix",
        "last_four",
        "expires_at",
        "revoked_at",
        "last_used_at",
    )
    list_select_related = ("team",)
    search_fields = ("name", "team__name", "prefix")
    exclude = ("digest",)
