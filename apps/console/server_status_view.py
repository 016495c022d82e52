"""Words for the status of a conductor's server."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from apps.console.test_result_view import advice_on
from apps.llm.vllm_metrics import ServerLoad
from apps.pools.types import ServerLook


@dataclass(frozen=True, slots=True)
class ServerLine:
    """How a server is doing, in words."""

    look: ServerLook
    state: str
    """A badge's: healthy, degraded, failing."""
    label: str
    advice: str
    """What to do. Empty: nothing."""
    cache_use: str
    """Share of its cache that is in use. Empty: unknown, as the next."""
    prefix_hits: str
    """Share of prompts' tokens that it had in its cache."""
    max_queue: int
    """From how many waiting requests on plans are shed. 0: never."""


def server_line(look: ServerLook) -> ServerLine:
    """Return a look in words."""
    load = look.load
    max_queue: int = settings.CONDUCTOR_MAX_QUEUE
    state, label = _state(look, max_queue)
    return ServerLine(
        look=look,
        state=state,
        label=label,
        advice=advice_on(look.error_code),
        cache_use=_share(load.cache_use if load else None),
        prefix_hits=_share(load.prefix_hit_share if load else None),
        max_queue=max_queue,
    )


def _state(look: ServerLook, max_queue: int) -> tuple[str, str]:
    if not look.is_reachable:
        return "failing", (
            _("Not reachable") if look.error_code == "connect" else _("Fails")
        )
    if look.serves_model is False:
        return "failing", _("Model not served")
    if _is_full(look.load, max_queue):
        return "degraded", _("Queue full")
    return "healthy", _("Answers")


def _is_full(load: ServerLoad | None, max_queue: int) -> bool:
    return load is not None and 0 < max_queue < load.waiting


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
