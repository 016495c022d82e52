"""What goes wrong in governance before anything of a run is recorded."""

from __future__ import annotations

from apps.core.errors import NotAllowed


class PolicyDenied(NotAllowed):
    """A policy refuses the run, and nothing of it may be recorded."""

    code = "policy_denied"
