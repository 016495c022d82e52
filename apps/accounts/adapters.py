"""How django-allauth behaves here: people are invited, nobody signs up on their own."""

from __future__ import annotations

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedSignupAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Sign-in by e-mail address; sign-up is closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: an operator or a team's admin makes the account."""
        return False
