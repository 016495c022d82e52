"""Loads the settings of a process and checks them before it starts.

Each fault is one line on standard error that names the variable to set. A process that
could not do its work does not start; what only limits it is a warning. What is checked:
`checks.py`. `manage.py check --deploy` checks the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import django
from django.core.checks import ERROR, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections

from conductor_site.databases import limit_standstills

STARTUP = "startup"
"""The tag of checks that a process makes before it starts."""


def set_up() -> None:
    """Load settings and apps and check them, or end the process with status 1."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    with faults_in_lines():
        django.setup()
    limit_standstills(connections.settings[DEFAULT_DB_ALIAS])
    found = run_checks(tags=[STARTUP], include_deployment_checks=True)
    # Django keeps checks in a set: without an order, lines would change places.
    messages = sorted(found, key=lambda message: str(message.id))
    for message in messages:
        _say("error" if message.level >= ERROR else "warning", message.msg)
    if any(message.level >= ERROR for message in messages):
        _say("error", "not started")
        sys.exit(1)


@contextmanager
def faults_in_lines() -> Iterator[None]:
    """Turn settings that cannot be read into lines and an end with status 1."""
    try:
        yield
    except ImproperlyConfigured as exc:
        for line in str(exc).splitlines():
            _say("error", line)
        sys.exit(1)


def _say(kind: str, text: str) -> None:
    sys.stderr.write(f"{kind}: {text}\n")
