"""The Celery application: how the processes of a site notify each other.

A task says no more than "look, there is something to do"; what that is stands in the
database. So a task that is lost, late or delivered twice does no harm: it is
acknowledged before it runs, has no result, and carries nothing but JSON.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")

QUEUE = "conductor"
SWEEP_S = 5.0
"""How often one worker process is reminded to look for runs without an owner."""
CONNECT_S = 1.0
ANSWER_S = 5.0
"""How long Redis may take; without it a connection that is cut silently hangs."""
VISIBILITY_S = 60
"""After this a task that a process has taken and not begun is given to another."""


def broker_url(redis_url: str) -> str:
    """Return the address of Redis as Celery writes it."""
    parts = urlsplit(redis_url)
    query = dict(parse_qsl(parts.query))
    if parts.scheme == "unix":
        query["virtual_host"] = query.pop("db", "0")
        return f"redis+socket://{parts.netloc}{parts.path}?{urlencode(query)}"
    if parts.scheme == "rediss" and "ssl_cert_reqs" not in query:
        query["ssl_cert_reqs"] = "required"  # what redis-py does unless told otherwise
        return parts._replace(query=urlencode(query)).geturl()
    return redis_url


def configuration(redis_url: str) -> dict[str, Any]:
    """Return the configuration of Celery."""
    return {
        "broker_url": broker_url(redis_url),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_S,
            "socket_connect_timeout": CONNECT_S,
            "socket_timeout": ANSWER_S,
        },
        "include": ["apps.runs.tasks"],
        "accept_content": ["json"],
        "task_serializer": "json",
        "task_default_queue": QUEUE,
        "task_ignore_result": True,
        "task_acks_late": False,
        "task_publish_retry": False,
        "worker_prefetch_multiplier": 1,
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "timezone": "UTC",
        # In memory: nothing here needs to know when it last ran, and a container has
        # no disk to write that on.
        "beat_scheduler": "celery.beat:Scheduler",
        "beat_schedule": {
            "sweep": {
                "task": "runs.sweep",
                "schedule": SWEEP_S,
                "options": {"expires": SWEEP_S},
            },
        },
    }


app = Celery("conductor", fixups=[])
app.config_from_object(configuration(settings.REDIS_URL))
app.set_default()
