"""Words for how workers are doing, in the language of the page."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from apps.pools.types import HealthState, WorkerHealth

_STATES = {
    HealthState.UNTESTED: gettext_noop("Untested"),
    HealthState.HEALTHY: gettext_noop("Healthy"),
    HealthState.DEGRADED: gettext_noop("Degraded"),
    HealthState.FAILING: gettext_noop("Failing"),
    HealthState.RESTING: gettext_noop("Resting"),
    HealthState.DISABLED: gettext_noop("Disabled"),
}


def state_word(state: HealthState) -> str:
    """Return the word for a state."""
    return _(_STATES[state])


def health_reason(health: WorkerHealth) -> str:
    """Return what the state of a worker rests on."""
    if health.state is HealthState.RESTING:
        return _("failed several times in a row; asked again within half a minute")
    if health.calls:
        calls = ngettext(
            "%(shown)s call in a day", "%(shown)s calls in a day", health.calls
        ) % {"shown": f"{health.calls:,}"}
        failed = _("%(number)s failed") % {"number": f"{health.failures:,}"}
        return f"{calls}, {failed}"
    if health.last_test is None:
        return _("never called or tested")
    return _("last test worked") if health.last_test.ok else _("last test failed")
