"""Fills a scratch database: `python -m tests.runs.prepare <url of the models>`.

Prints what a test needs to know of it as one JSON object.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
django.setup()

from tests.factories import (  # noqa: E402
    MembershipFactory,
    PoolFactory,
    TeamFactory,
    issue_key,
)
from tests.runs.asking import session_of  # noqa: E402
from tests.scratch_database import database_prepare  # noqa: E402

WORKERS = ("instant", "delay-1000", "delay-0")


def main() -> None:
    """Make a team with a member, a key and a pool."""
    database_prepare()
    team = TeamFactory.create()
    member = MembershipFactory.create(team=team)
    pool = PoolFactory.create(team=team, base_url=sys.argv[1], workers=WORKERS)
    assert pool.conductor is not None
    pool.conductor.model = "scripted-conductor"
    pool.conductor.save()
    known = {"key": issue_key(team).secret, "session": session_of(member.user)}
    sys.stdout.write(json.dumps(known))


if __name__ == "__main__":
    main()
