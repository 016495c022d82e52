"""The playground in Chromium: how soon it can be used, and what long texts cost it.

Each round is a fresh profile of the browser, so nothing is cached. The answer has 2,000
tokens of Markdown at 100 a second, each as a piece of its own. The share of a core is
the time of the page's tasks; layout shifts are summed as Chromium reports them.

The long conversation has 200 turns with answers of 150 tokens. It is opened at its end,
scrolled to its begin and back, and a prompt is typed into it: a frame that takes long,
or a key that is shown late, is what a reader would notice.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from bench.figures import keep, medians, say
from bench.servers import ROOT, base_url, folder, prepare, upstream, web

ROUNDS = 5
ANSWER = "prose-2000-100"
TURNS, SHORT_ANSWER = 200, "prose-150-100000"
TYPED = "A prompt of fifty characters, typed key by key ..."
PATIENCE_MS = 120_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
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
WATCH_FRAMES = """() => {
  window.frames_ms = [];
  let last = performance.now();
  const look = (now) => {
    window.frames_ms.push(now - last);
    last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
SCROLL = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  window.frames_ms.length = 0;
  for (const step of [-600, 600]) {
    let before = NaN;
    while (before !== scrollY) {
      before = scrollY;
      scrollBy(0, step);
      await frame();
    }
  }
  const { scrollHeight: height } = document.documentElement;
  return { longest: Math.max(...window.frames_ms), height };
}"""
WATCH_KEYS = """() => {
  window.keys_ms = [];
  const { keys_ms: all } = window;
  document.querySelector("#composer textarea").addEventListener("keydown", (event) => {
    const note = () => all.push(performance.now() - event.timeStamp);
    requestAnimationFrame(() => setTimeout(note));
  });
}"""
OWN_SCRIPT = """() => performance.getEntriesByType("resource")
  .filter((entry) => new URL(entry.name).pathname.startsWith("/static/js/"))
  .reduce((sum, entry) => sum + entry.decodedBodySize, 0)"""


def main() -> None:
    """Measure and keep the figures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS))),
            args=["--no-sandbox"],
        )
        with _site(ANSWER) as (url, cookie):
            rounds = [_round(browser, url, cookie, n) for n in range(ROUNDS)]
        with _site(SHORT_ANSWER) as (url, cookie):
            path = _converse(browser, url, cookie)
            long = [_read(browser, url + path, cookie) for _ in range(ROUNDS)]
        browser.close()
    found = {"playground": medians(rounds), "long_conversation": medians(long)}
    keep("pages", {"rounds": ROUNDS, "turns": TURNS, **found})


@contextmanager
def _site(answer: str) -> Iterator[tuple[str, str]]:
    """Start a site whose worker gives `answer`; yield its address and a session."""
    with upstream() as models, folder() as path:
        env = {"DATABASE_URL": f"sqlite:///{path / 'bench.sqlite3'}"}
        prepare(env, path, base_url(models), answer)
        cookie = _sign_in(env)
        with web(env, path) as (url, _):
            yield url, cookie


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


def _open(browser: Browser, url: str, cookie: str) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(url)
    page.wait_for_function("window.readyMs")
    return page


def _converse(browser: Browser, url: str, cookie: str) -> str:
    """Ask for every turn of the long conversation; return the path of its page."""
    page = _open(browser, url, cookie)
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    api, headers = f"{url}/api/v1", {"X-CSRFToken": token}
    made = page.request.post(f"{api}/conversations/", headers=headers, data={})
    path = f"/conversations/{made.json()['id']}/"
    for number in range(TURNS):
        asked = {"model": "worker/clock", "prompt": f"Question {number}: go on."}
        turn = page.request.post(f"{api}{path}turns/", headers=headers, data=asked)
        if not turn.ok:
            raise RuntimeError(f"turn {number}: {turn.status} {turn.text()}")
        while not _is_over(page, f"{api}/runs/{turn.json()['run']['id']}/"):
            time.sleep(0.02)
    page.context.close()
    return path


def _is_over(page: Page, url: str) -> bool:
    run = page.request.get(url).json()
    if run["state"] in {"failed", "cancelled"}:
        raise RuntimeError(f"a turn of the long conversation ended: {run['error']}")
    return bool(run["state"] == "completed")


def _read(browser: Browser, url: str, cookie: str) -> dict[str, float]:
    """Open the long conversation, scroll through it, and type into it."""
    page = _open(browser, url, cookie)
    page.evaluate(WATCH_FRAMES)
    scrolled = page.evaluate(SCROLL)
    page.evaluate(WATCH_KEYS)
    page.get_by_role("textbox", name="Prompt").press_sequentially(TYPED, delay=20)
    page.wait_for_function(f"window.keys_ms.length === {len(TYPED)}")
    seen = {
        "ready_ms": float(page.evaluate("window.readyMs")),
        "height_px": float(scrolled["height"]),
        "longest_frame_ms": float(scrolled["longest"]),
        "key_p95_ms": sorted(page.evaluate("window.keys_ms"))[-len(TYPED) // 20],
    }
    page.context.close()
    say(f"  long conversation: {seen}")
    return seen


def _round(browser: Browser, url: str, cookie: str, number: int) -> dict[str, float]:
    page = _open(browser, f"{url}/", cookie)
    seen = {
        "ready_ms": float(page.evaluate("window.readyMs")),
        "script_bytes": float(page.evaluate(OWN_SCRIPT)),
        **_stream(page),
    }
    page.context.close()
    say(f"  round {number + 1}/{ROUNDS}: {seen}")
    return seen


def _stream(page: Page) -> dict[str, float]:
    """Ask for the long answer; return what it costs the page while it comes."""
    page.get_by_label("Route to").select_option("clock")
    page.get_by_role("textbox", name="Prompt").fill("Go on.")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/conversations/**")
    page.wait_for_selector("#run-answer [data-mirror]:not(:empty)")
    metrics = page.context.new_cdp_session(page)
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
