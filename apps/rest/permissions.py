"""Who may call an operation: principals with the right that it names, or operators.

An operation that names neither is refused.
"""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.core.errors import NotAllowed
from apps.rest.authentication import operator_of, principal_of


class HasRight(BasePermission):
    """Authenticates the request and checks the right that the operation requires."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Set `view.principal`. Raises: NotSignedIn, NotFound, NotAllowed."""
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.allowed_methods:
            return True  # the answer will be 405
        view.principal = principal_of(request)
        # For the server, which answers by turns of the teams.
        setattr(request._request, "principal_team_id", view.principal.team_id)  # noqa: B010
        right = view.rights.get(method)
        if right is None:
            raise NotAllowed("this operation is not open to anyone")
        view.principal.require(right)
        return True


class IsOperator(BasePermission):
    """Authenticates the request and admits operators of the site alone."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Set `view.operator`. Raises: NotSignedIn, NotAllowed."""
        view.operator = operator_of(request)
        return True
