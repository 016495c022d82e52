"""What conductors read beside the question."""

from __future__ import annotations

from django.db import models


class PromptStyle(models.TextChoices):
    """Of conductors whose plans are lists; others have the full prompt."""

    FULL = "full", "Rules and examples"
    BRIEF = "brief", "Measured workers only"
    """As conductors are trained on this site; see `apps.planners.worker_cards`."""
