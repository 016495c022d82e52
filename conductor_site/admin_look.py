"""The look of the record lists. Their frame and colours are those of all pages."""

from __future__ import annotations

from typing import Any

ADMIN_LOOK: dict[str, Any] = {
    "SITE_TITLE": "Conductor",
    "SITE_HEADER": "Conductor",
    "SHOW_VIEW_ON_SITE": False,
}
