"""`manage.py demo_prepare`: make the demo's team, pool, person and key."""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.models import Team
from apps.playground.demo.preparation import SIMULATOR_URL, TEAM_SLUG, demo_prepare
from apps.playground.demo.real_models import real_models_add


class Command(BaseCommand):
    """Prepares the demo; `make demo` runs it."""

    help = "Make the demo's team, pool, person and key, and write var/demo.json."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--simulator-url", default=SIMULATOR_URL)
        parser.add_argument(
            "--untrained",
            action="store_true",
            help="leave out the planner and the evaluation that ship with the demo",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare it and say how to get in."""
        if settings.IS_PRODUCTION:
            raise CommandError("the demo's simulated pool is not for production")
        access = demo_prepare(
            url=settings.CONDUCTOR_URL,
            simulator_url=options["simulator_url"],
            is_trained=not options["untrained"],
        )
        team = Team.objects.get(slug=TEAM_SLUG)
        for line in real_models_add(team, os.environ):
            self.stdout.write(f"  {line}")
        self.stdout.write(_GREETING.format(access=access))


_GREETING = """
  Conductor is at  {access.url}
  Sign in with     {access.email}
  or, to review    {access.reviewer_email}
  Password         {access.password}

  Or call it like OpenAI (also with any OpenAI client):

  curl {access.url}/v1/chat/completions \\
    -H "Authorization: Bearer {access.api_key}" \\
    -H "Content-Type: application/json" \\
    -d '{{"model": "conductor-ultra", "messages": [{{"role": "user", "content": "What is 17 * 23 + 4?"}}]}}'
"""
