"""The guard itself: it must notice what no page may do, or the rest proves little."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
SCRIPT = """() => {
  const script = document.createElement("script");
  script.textContent = "window.acted = true";
  document.body.append(script);
}"""
FETCH = "() => fetch('http://elsewhere.example/').catch(() => 0)"
THROW = "() => { setTimeout(() => { throw new Error('lost') }); }"


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (SCRIPT, "Content Security Policy"),
        (FETCH, "elsewhere.example"),
        (THROW, "uncaught: lost"),
    ],
)
async def test_guard_notices(visit, act, fault):
    seen = await visit(None)
    await seen.page.goto("/accounts/login/")
    await seen.page.evaluate(act)
    await seen.page.evaluate("new Promise((done) => setTimeout(done))")
    assert any(fault in found for found in seen.guard.faults)
    seen.guard.expect("")


async def test_guard_cuts_other_origins_off(visit):
    seen = await visit(None)
    seen.guard.expect("elsewhere.example|ERR_")
    with pytest.raises(Exception, match="ERR_PROXY_CONNECTION_FAILED"):
        await seen.page.goto("http://elsewhere.example/")
