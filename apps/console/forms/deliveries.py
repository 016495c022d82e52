"""The choices of delivery in forms."""

from __future__ import annotations

from apps.accounts.models import Delivery

DELIVERIES = {
    Delivery.LIVE.value: "Live: word by word",
    Delivery.VERIFIED.value: "Verified: once complete",
}
HINT = (
    "For streamed answers. Verified ones wait for the end of the answer, so a fault "
    "before it is repaired unseen."
)
