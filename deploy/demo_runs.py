"""Makes the first runs of the demo: an empty site shows nothing.

    python -m deploy.demo_runs http://127.0.0.1:8000

Some come over the API with the demo's key; the examples become conversations of the
demo's member, so this signs in as that member, who then tests the workers. A site that
has runs is left alone.
"""

from __future__ import annotations

import json
import os
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx

from apps.simulator.examples import PreparedExample, examples

ROOT = Path(__file__).resolve().parent.parent
ANSWER_S = 60.0
RUN_S = 120.0
"""Longer than a run takes, on a slow machine too."""
FIRST_PROMPTS = (
    "What does Project Falcon cost?",
    "What is 12*12, and what is the capital of Italy?",
    "How many days are between 2024-01-15 and 2024-03-01?",
    "Write a Python function that returns the nth Fibonacci number",
    "Convert 5 miles to kilometers",
)
"""The demo's policy denies the first, and somebody rates the last as bad, so that there
is something to review."""
REPORT_PROMPTS = (
    "A shop has 14 boxes of 9 pens and sells 15 pens. How many pens are left?",
    "Convert 12 weeks to days.",
    "Name the capital city of Norway.",
)
"""Of a program that has a budget."""
REPORT_SHARE = Decimal("0.6")
"""Of that budget, which these take."""
ALERT_PERCENT = 50
"""Of a budget that is spent when the demo's rule alerts: those runs do it."""
MODEL = "conductor-ultra"
FOLDER = "Examples"


def main() -> int:
    """Make the runs; return 1, and say why, if the site did not let that happen."""
    folder = Path(os.environ.get("CONDUCTOR_VAR_DIR") or ROOT / "var")
    access = json.loads((folder / "demo.json").read_text(encoding="utf-8"))
    key = {"Authorization": f"Bearer {access['api_key']}"}
    api = f"{sys.argv[1]}/api/v1/"
    try:
        with httpx.Client(base_url=api, headers=key, timeout=ANSWER_S) as program:
            if _json(program.get("runs/", params={"limit": 1}))["data"]:
                return 0
            _rate(program, [_run(program, prompt) for prompt in FIRST_PROMPTS][-1])
        with httpx.Client(base_url=sys.argv[1], timeout=ANSWER_S) as member:
            _sign_in(member, access["email"], access["password"])
            member.base_url = httpx.URL(api)
            for example in examples():
                _converse(member, example)
            _report(member, api)
            for worker in _json(member.get("workers/"))["data"]:
                _json(member.post(f"workers/{worker['id']}/test/"))
    except (httpx.HTTPError, TimeoutError) as error:
        print(f"  Not all of the demo's first runs could be made: {error}", flush=True)
        return 1
    return 0


def _run(site: httpx.Client, prompt: str) -> str:
    order = {"model": MODEL, "prompt": prompt}
    return str(_json(site.post("runs/", json=order))["id"])


def _rate(site: httpx.Client, run_id: str) -> None:
    _wait(site, run_id)
    rating = {"rating": "down", "comment": "Two digits would do."}
    _json(site.post(f"runs/{run_id}/feedback/", json=rating))


def _converse(site: httpx.Client, example: PreparedExample) -> None:
    named = {"name": example.title, "folder": FOLDER}
    conversation = _json(site.post("conversations/", json=named))["id"]
    for turn in example.turns:
        order = {"model": MODEL, "prompt": turn.prompt}
        begun = _json(site.post(f"conversations/{conversation}/turns/", json=order))
        _wait(site, begun["run"]["id"])


def _report(member: httpx.Client, api: str) -> None:
    """Make the runs of a program with a key and a budget of its own, mostly used up."""
    rule = {"threshold": ALERT_PERCENT}
    _json(member.patch("alert-rules/budget/", json=rule))
    key = _json(member.post("keys/", json={"name": "Weekly report"}))
    budget = {"kind": "key", "api_key_id": key["id"], "period": "month"}
    made = _json(member.post("budgets/", json={**budget, "limit_usd": "1.00"}))
    held = {"Authorization": f"Bearer {key['secret']}"}
    with httpx.Client(base_url=api, headers=held, timeout=ANSWER_S) as program:
        runs = [_run(program, prompt) for prompt in REPORT_PROMPTS]
        for run_id in runs:
            _wait(program, run_id)
        costs = (_json(program.get(f"runs/{run_id}/"))["cost_usd"] for run_id in runs)
        limit = sum(map(Decimal, costs)) / REPORT_SHARE
    change = {"limit_usd": f"{limit:.6f}"}
    _json(member.patch(f"budgets/{made['id']}/", json=change))


def _wait(site: httpx.Client, run_id: str) -> None:
    """Return when a run is over. Raises: TimeoutError."""
    deadline = time.monotonic() + RUN_S
    while _json(site.get(f"runs/{run_id}/"))["state"] == "running":
        if time.monotonic() > deadline:
            raise TimeoutError(f"run {run_id} has not ended in {RUN_S:.0f} s")
        time.sleep(0.2)


def _sign_in(site: httpx.Client, email: str, password: str) -> None:
    site.get("/accounts/login/").raise_for_status()
    token = site.cookies["csrftoken"]
    form = {"login": email, "password": password, "csrfmiddlewaretoken": token}
    site.post("/accounts/login/", data=form)
    site.headers["X-CSRFToken"] = site.cookies["csrftoken"]
    site.headers["Referer"] = str(site.base_url)


def _json(answer: httpx.Response) -> Any:
    return answer.raise_for_status().json()


if __name__ == "__main__":
    sys.exit(main())
