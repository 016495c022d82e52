"""The playground in Chromium: how soon it can be used, and what a long answer costs it.

Each round is a fresh profile of the browser, so nothing is cached. The answer has 2,000
tokens of Markdown at 100 a second, each as a piece of its own. The share of a core is
the time of the page's tasks; layout shifts are summed as Chromium reports them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.figures import keep, medians, say
from bench.servers import ROOT, base_url, folder, prepare, upstream, web

ROUNDS = 5
ANSWER = "prose-2000-100"
PATIENCE_MS = 120_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
VISITOR = """
from django.contrib.auth import get_user_model
from apps.accounts.models import Membership, Role, Team
from bench.seeding import sign_in
person = get_user_model().objects.create_user("reader@example.org", name="Reader")
team = Team.objects.get(slug="bench")
Membership.objects.create(team=team, user=person, role=Role.OWNER)
print(sign_in(person))
"""
WATCH = """(() => {
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) {
      if (!hadRecentInput) window.shifted += value;
    }
  }).observe({ type: "layout-shift", buffered: true });
  const look = () => {
    const form = document.querySelector("#composer[data-ready]");
    if (form) window.readyMs = performance.now();
    else requestAnimationFrame(look);
  };
  look();
})()"""
COUNT_PAINTS = """() => {
  window.paints = 0;
  const run = document.querySelector("#run");
  const all = { subtree: true, childList: true, characterData: true };
  let last = 0;
  new MutationObserver(() => {
    const frame = document.timeline.currentTime;
    if (frame !== last) window.paints += 1;
    last = frame;
  }).observe(run, all);
}"""
OWN_SCRIPT = """() => performance.getEntriesByType("resource")
  .filter((entry) => new URL(entry.name).pathname.startsWith("/static/js/"))
  .reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""


def main() -> None:
    """Measure and keep the figures."""
    with upstream() as models, folder() as path:
        env = {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}"}
        prepare(env, path, base_url(models), ANSWER)
        cookie = _sign_in(env)
        with web(env, path) as (url, _), sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=next(filter(None, map(shutil.which, BROWSERS))),
                args=["--no-sandbox"],
            )
            rounds = [_round(browser, url, cookie, n) for n in range(ROUNDS)]
            browser.close()
    keep("pages", {"rounds": ROUNDS, "playground": medians(rounds)})


def _sign_in(env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--command", VISITOR],
        cwd=ROOT,
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.split("sessionid=")[1].strip()


def _round(browser: Browser, url: str, cookie: str, number: int) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(f"{url}/")
    page.wait_for_function("window.readyMs")
    seen = {
        "ready_ms": float(page.evaluate("window.readyMs")),
        "script_bytes": float(page.evaluate(OWN_SCRIPT)),
        **_stream(context, page),
    }
    context.close()
    say(f"  round {number + 1}/{ROUNDS}: {seen}")
    return seen


def _stream(context: BrowserContext, page: Page) -> dict[str, float]:
    """Ask for the long answer; return what it costs the page while it comes."""
    page.get_by_label("Route to").select_option("clock")
    page.get_by_role("textbox", name="Prompt").fill("Go on.")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/conversations/**")
    page.wait_for_selector("#run-answer [data-mirror]:not(:empty)")
    metrics = context.new_cdp_session(page)
    metrics.send("Performance.enable")
    page.evaluate(COUNT_PAINTS)
    began, busy = time.perf_counter(), _busy_s(metrics)
    page.wait_for_selector("#run-body[data-state=completed]", timeout=PATIENCE_MS)
    took = time.perf_counter() - began
    return {
        "stream_s": took,
        "core_share": (_busy_s(metrics) - busy) / took,
        "paints_per_s": page.evaluate("window.paints") / took,
        "layout_shift": float(page.evaluate("window.shifted")),
    }


def _busy_s(metrics: Any) -> float:
    found = metrics.send("Performance.getMetrics")["metrics"]
    return float(
        next(each["value"] for each in found if each["name"] == "TaskDuration")
    )


if __name__ == "__main__":
    main()
