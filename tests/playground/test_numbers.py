"""Every number on a run's page, and on the list, is that of the REST API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import Team
from apps.engine import events as ev
from apps.engine.usage import Cost, Usage
from apps.runs.models import Run
from apps.web import formats
from tests.playground import stories
from tests.runs.recording import record, told

pytestmark = pytest.mark.django_db
ENDED = sorted(set(stories.ALL) - {"planning", "parallel"})
RUNS = 66
LARGEST_MICROS = 4_000_000
METRIC = re.compile(r"<dt>(Time|Cost|Tokens|Steps)[^<]*</dt><dd[^>]*>(.*?)</dd>", re.S)
CELL = re.compile(r'data-label="(Time|Cost|Tokens|Steps)">(.*?)</td>', re.S)
ROW = re.compile(r'<tr class="row" data-run-id="([^"]+)".*?</tr>', re.S)
SUMMARY = re.compile(r'id="run-summary".*?</section>', re.S)
TAG = re.compile(r"<[^>]+>")


def varied(events: Sequence[ev.Event], chance: Random) -> list[ev.Event]:
    """Give each call of a story its own tokens and cost; a sixth have no price."""
    usage, cost = Usage(), Cost()
    found: list[ev.Event] = []
    for event in events:
        changed: Any = event
        if isinstance(event, ev.RunCompleted | ev.RunFailed | ev.RunCancelled):
            changed = replace(
                event,
                usage=usage,
                cost_micros=cost.micros,
                has_unknown_cost=cost.has_unknown,
            )
        elif hasattr(event, "usage"):
            used = Usage(chance.randrange(20_000), chance.randrange(5_000))
            micros = chance.choice([None, *[chance.randrange(LARGEST_MICROS)] * 5])
            changed = replace(changed, usage=used, cost_micros=micros)
            usage += used
            cost += Cost(micros or 0, micros is None)
        found.append(changed)
    return found


def shown(pattern: re.Pattern[str], page: str) -> dict[str, str]:
    found = pattern.findall(page)
    return {name: " ".join(TAG.sub("", text).split()) for name, text in found}


def of_rest(run: dict[str, Any]) -> dict[str, str]:
    """Return what a page has to show for the answer of the REST API."""
    micros = round(float(run["cost_usd"]) * 1_000_000)
    cost = formats.cost(Cost(micros, run["has_unknown_cost"]))
    steps = f"{run['steps_done']} of {run['steps_total']}"
    return {
        "Time": formats.duration(run["latency_ms"]),
        "Cost": cost,
        "Tokens": formats.count(run["prompt_tokens"] + run["completion_tokens"]),
        "Steps": steps if run["steps_total"] else "–",
    }


def test_fifty_runs_have_the_same_numbers_everywhere(bob: Client, team: Team) -> None:
    chance = Random(19)
    runs: list[Run] = []
    for number in range(RUNS):
        events = varied(told(stories.ALL[ENDED[number % len(ENDED)]]), chance)
        runs.append(record(team, events))
    ended = [run for run in runs if run.finished_at]
    assert len(ended) >= 50
    assert {run.has_unknown_cost for run in ended} == {True, False}
    for run in ended:
        answer = bob.get(f"/api/v1/runs/{run.id}/").json()
        page = bob.get(f"/runs/{run.id}/").content.decode()
        summary = SUMMARY.search(page)
        assert summary and shown(METRIC, summary[0]) == of_rest(answer)
        assert answer["prompt_tokens"] == run.prompt_tokens
    listed = "".join(
        bob.get(f"/runs/?page={page}").content.decode() for page in range(1, 5)
    )
    rows = {
        match[1]: match[0]
        for match in re.finditer(
            r'<tr class="row" data-run-id="([^"]+)".*?</tr>', listed, re.S
        )
    }
    for run in ended:
        answer = bob.get(f"/api/v1/runs/{run.id}/").json()
        assert shown(CELL, rows[str(run.id)]) == of_rest(answer)
