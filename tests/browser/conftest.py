"""A real browser: one per test process, one context per visitor, always watched."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
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
    ProxySettings,
    async_playwright,
    expect,
)

from apps.accounts.models import User
from apps.simulator.app import create_app
from tests.browser.guard import Guard
from tests.browser.holding import HeldModels
from tests.conftest import add_worker
from tests.patience import PATIENCE_S, WORK_PATIENCE_S
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
NOWHERE: ProxySettings = {
    "server": "http://127.0.0.1:9",
    "bypass": "127.0.0.1,localhost",
}
"""Where all requests go that would leave this machine: nobody is there."""
PATIENCE_MS = PATIENCE_S * 1000
WORK_PATIENCE_MS = WORK_PATIENCE_S * 1000
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
            executable_path=path,
            args=list(FLAGS),
            proxy=NOWHERE,
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


class Windows:
    """Contexts of the browser for the tests of a file, each emptied for the next test.

    Files of the site stay in their caches. A context is for one set of options.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[tuple[BrowserContext, Guard]]] = {}

    async def take(
        self, url: str, options: Mapping[str, Any]
    ) -> tuple[BrowserContext, Guard]:
        """Return a context without pages and what watches it."""
        free = self._free.get(repr(options))
        if free:
            context, guard = free.pop()
            await context.grant_permissions(options.get("permissions", []))
            return context, guard
        context = await self._browser.new_context(base_url=url, **options)
        context.set_default_timeout(PATIENCE_MS)
        guard = Guard(url)
        guard.watch(context)
        return context, guard

    async def give_back(
        self, context: BrowserContext, guard: Guard, options: Mapping[str, Any]
    ) -> None:
        """Empty a context and keep it for another test."""
        *others, last = context.pages or [await context.new_page()]
        session = await context.new_cdp_session(last)
        site = {"origin": guard.origin, "storageTypes": "all"}
        await session.send("Storage.clearDataForOrigin", site)
        for page in (*others, last):
            await page.close()
        await context.clear_cookies()
        await context.clear_permissions()
        guard.forget()
        self._free.setdefault(repr(options), []).append((context, guard))

    async def close(self) -> None:
        """Close all of them."""
        for free in self._free.values():
            for context, _ in free:
                await context.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def windows(browser: Browser) -> AsyncIterator[Windows]:
    windows = Windows(browser)
    yield windows
    await windows.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(site: Any, windows: Windows) -> AsyncIterator[Visit]:
    """Open a browser window for `user` (None: not signed in); faults fail the test."""
    faults: list[str] = []

    async def leave(visitor: Visitor, options: Mapping[str, Any]) -> None:
        faults.extend(visitor.guard.faults)
        await windows.give_back(visitor.context, visitor.guard, options)

    async with AsyncExitStack() as stack:

        async def open_window(
            user: User | None, size: tuple[int, int] = WIDE, **more: Any
        ) -> Visitor:
            viewport = {"width": size[0], "height": size[1]}
            options = {"viewport": viewport, "reduced_motion": "reduce", **more}
            context, guard = await windows.take(site.url, options)
            if user is not None:
                session = await _session_of(user)
                name = settings.SESSION_COOKIE_NAME
                await context.add_cookies(
                    [{"name": name, "value": session, "url": site.url}]
                )
            visitor = Visitor(await context.new_page(), context, guard)
            stack.push_async_callback(leave, visitor, options)
            return visitor

        yield open_window
    assert faults == []


@database_sync_to_async
def _session_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value
