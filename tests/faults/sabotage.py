"""Starts a process of the site in which something is not as it should be, or is slower.

`python -m tests.faults.sabotage <what> <module> [arguments]`. Without a part of the
leases, it proves that the harness sees what happens then. Nothing in the product knows
of this file.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django.setup()

from apps.evaluation import jobs  # noqa: E402
from apps.runs.execution.lease_keeper import LeaseKeeper  # noqa: E402
from apps.runs.records import projection  # noqa: E402

NO_SWEEP = "no-sweep"
"""Nobody takes up what dead processes leave behind."""
NO_FENCE = "no-fence"
"""Whoever once had a run writes on, and does not notice that the lease is over."""


SHORT_TURNS = "short-turns"
"""Evaluations that share a process take turns often, so that all are under way."""


async def _nothing(_: Any) -> None:
    pass


def _forget_to_sweep() -> None:
    setattr(LeaseKeeper, "sweep", _nothing)  # noqa: B010


def _forget_the_fence() -> None:
    setattr(LeaseKeeper, "renew", _nothing)  # noqa: B010
    for name in ("UPDATE_RUN", "CHECK_FENCE"):
        statement = getattr(projection, name)
        assert "AND fence = %s" in statement
        setattr(projection, name, statement.replace("fence = %s", "%s >= 0"))


def _take_short_turns() -> None:
    setattr(jobs, "TURN_S", 2.0)  # noqa: B010


WAYS = {
    NO_SWEEP: _forget_to_sweep,
    NO_FENCE: _forget_the_fence,
    SHORT_TURNS: _take_short_turns,
}


def main() -> None:
    """Switch it off and go on as the module."""
    _, what, module, *arguments = sys.argv
    WAYS[what]()
    sys.argv = [module, *arguments]
    begin = "conductor_site.__main__" if module == "conductor_site" else module
    import_module(begin).main()


if __name__ == "__main__":
    main()
