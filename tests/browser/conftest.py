"""A real browser: one per test process, one context per visitor, always watched."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, cast

import pytest
import pytest_asyncio
from channels.db import database_sync_to_async
from django.conf import settings
from django.test import Client
from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    async_playwright,
    expect,
)

from apps.accounts.models import User
from apps.simulator.app import create_app
from tests.browser.guard import Guard
from tests.browser.holding import HeldModels
from tests.conftest import add_worker
from tests.patience import PATIENCE_S
from tests.serving import serving

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--site-per-process",  # as with windows: a frame without an origin has a process
)
PATIENCE_MS = PATIENCE_S * 1000
WIDE = (1440, 900)


@pytest.fixture(scope="session")
def paced_models() -> Iterator[tuple[HeldModels, str]]:
    """Simulated models that take their time, and their address."""
    models = HeldModels(create_app(speed=1))
    with serving(models, ws="none") as url:
        yield models, f"{url}/v1"


@pytest.fixture
def models(site: Any, paced_models: tuple[HeldModels, str]) -> Iterator[HeldModels]:
    """The models that `hire` gives the pool; `models.hold()` stops their answers."""
    yield paced_models[0]
    paced_models[0].release()


@pytest.fixture
def hire(
    site: Any, models: HeldModels, paced_models: tuple[HeldModels, str]
) -> Callable[..., Awaitable[None]]:
    """Give the default pool exactly these models, and a conductor that obeys."""

    @database_sync_to_async
    def only(*models: str) -> None:
        pool = site.cast.team.pools.get(is_default=True)
        pool.places.all().delete()
        for model in models:
            add_worker(site.cast.team, paced_models[1], model)
        pool.fallback = pool.places.order_by("position").first().worker
        pool.save()
        site.set_conductor("scripted-conductor")

    return cast(Callable[..., Awaitable[None]], only)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The system's Chromium. Without one these tests fail: they must not be skipped."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail(f"no browser found; install one of {', '.join(NAMES)}")
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=path, args=list(FLAGS)
        )
        yield browser
        await browser.close()


@dataclass
class Visitor:
    """Somebody in front of a browser."""

    page: Page
    context: BrowserContext
    guard: Guard


Visit = Callable[..., Awaitable[Visitor]]


@pytest_asyncio.fixture(loop_scope="session")
async def visit(site: Any, browser: Browser) -> AsyncIterator[Visit]:
    """Open a browser window for `user` (None: not signed in); faults fail the test."""
    guards: list[Guard] = []
    async with AsyncExitStack() as stack:

        async def open_window(
            user: User | None, size: tuple[int, int] = WIDE, **options: Any
        ) -> Visitor:
            context = await browser.new_context(
                base_url=site.url,
                viewport={"width": size[0], "height": size[1]},
                reduced_motion="reduce",
                **options,
            )
            stack.push_async_callback(context.close)
            context.set_default_timeout(PATIENCE_MS)
            guard = Guard(site.url)
            guards.append(guard)
            await guard.watch(context)
            if user is not None:
                session = await _session_of(user)
                name = settings.SESSION_COOKIE_NAME
                await context.add_cookies(
                    [{"name": name, "value": session, "url": site.url}]
                )
            return Visitor(await context.new_page(), context, guard)

        yield open_window
    faults = [fault for guard in guards for fault in guard.faults]
    assert faults == []


@database_sync_to_async
def _session_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value
