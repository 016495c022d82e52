"""A person's own account: who they are, how they sign in, where they are signed in."""

from __future__ import annotations

import logging
from typing import cast

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.openid_connect.views import login
from allauth.usersessions.models import UserSession
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.core.plain_text import DISRUPTIVE_NAME, is_plain
from apps.web.languages import LanguageForm, keep_language, way_back

logger = logging.getLogger(__name__)


class NameForm(forms.ModelForm):  # type: ignore[type-arg]
    """Asks how a person wants to be called."""

    class Meta:
        model = User
        fields = ("name",)
        labels = {"name": gettext_lazy("Name")}
        widgets = {"name": forms.TextInput(attrs={"autocomplete": "name"})}

    def clean_name(self) -> str:
        """Refuse a name that would change the text around it."""
        name: str = self.cleaned_data["name"]
        if not is_plain(name):
            raise forms.ValidationError(gettext(DISRUPTIVE_NAME))
        return name


@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Show the account, and take another name."""
    user = cast(User, request.user)
    form = NameForm(request.POST or None, instance=user)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, gettext("Your name is saved."))
        return redirect("account")
    kinds = list(Authenticator.objects.filter(user=user).values_list("type", flat=True))
    context = {
        "form": form,
        "has_app": Authenticator.Type.TOTP in kinds,
        "passkeys": kinds.count(Authenticator.Type.WEBAUTHN),
        "has_recovery_codes": Authenticator.Type.RECOVERY_CODES in kinds,
        "session_count": len(UserSession.objects.purge_and_list(user)),
        "connections": SocialAccount.objects.filter(user=user).count(),
    }
    return render(request, "account/overview.html", context)


@require_POST
def account_language(request: HttpRequest) -> HttpResponse:
    """Keep the language that a person or a visitor chose, and go back to the page."""
    form = LanguageForm(request.POST)
    if not form.is_valid():
        raise InvalidInput("this language is not available", param="language")
    code, wanted = form.cleaned_data["language"], request.POST.get("next", "")
    response = redirect(way_back(request, wanted))
    keep_language(request, response, code)
    if request.user.is_authenticated and not wanted:
        with translation.override(code or translation.get_language()):
            messages.success(request, gettext("Your language is saved."))
    return response


@require_POST
def single_sign_on(request: HttpRequest) -> HttpResponse:
    """Send a person to the OpenID provider, by a page that leads there.

    Browsers hold the answer to a form to `form-action`, wherever the provider goes on
    from there. A page that moves on by itself is no answer to a form.
    """
    try:
        response = cast(HttpResponse, login(request, settings.OIDC_PROVIDER_ID))
    except (OSError, ValueError):  # not reached, or its description is not one
        logger.exception("the OpenID provider does not answer as it should")
        return render(request, "socialaccount/authentication_error.html", status=503)
    if not isinstance(response, HttpResponseRedirect):
        return response
    context = {"redirect_to": response.url}
    return render(request, "socialaccount/login_redirect.html", context)
