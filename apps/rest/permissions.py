"""The one gate of the API: every operation names its right, or nobody may call it."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from apps.core.errors import NotAllowed
from apps.rest.authentication import asker_of


class HasRight(BasePermission):
    """Finds out who asks, tells the view, and checks what the operation needs."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Set `view.asker`. Raises: NotSignedIn, NotFound, NotAllowed."""
        method = "GET" if request.method == "HEAD" else str(request.method)
        if method not in view.allowed_methods:
            return True  # the answer will be 405, to whoever asks
        view.asker = asker_of(request)
        # For the server, which answers by turns of the teams.
        setattr(request._request, "asking_team_id", view.asker.team_id)  # noqa: B010
        right = view.rights.get(method)
        if right is None:
            raise NotAllowed("nobody may do this")
        view.asker.require(right)
        return True
