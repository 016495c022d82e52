"""The choices of delivery in forms."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Delivery

DELIVERIES = {
    Delivery.LIVE.value: _("Live: word by word"),
    Delivery.VERIFIED.value: _("Verified: once complete"),
}
HINT = _(
    "For streamed answers. A verified answer is sent once it is complete, so that a "
    "fault on the way is repaired unseen."
)
