"""Diagrams of answers are drawn apart, shown as images, and can do nothing."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from django.conf import settings
from playwright.async_api import Locator, Page, expect

from tests.browser import runs
from tests.browser.hostile import ACTS
from tests.browser.plans import say
from tests.browser.screens import PHONE, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
FAULTS = """async (part) => (await axe.run(part)).violations.flatMap((fault) =>
  fault.nodes.map((node) => `${fault.id}: ${node.html.slice(0, 160)}`))"""
FLOWCHART = "flowchart TD\n  A[Start] -->|yes| B{Is it?}\n  B --> C((End))"
SEQUENCE = (
    "sequenceDiagram\n  title Two people\n  Alice->>Bob: Hello\n  Bob-->>Alice: Hi"
)
KINDS = {
    "gantt": "gantt\n  dateFormat YYYY-MM-DD\n  section S\n  One :a1, 2024-01-01, 30d",
    "pie": 'pie title Pets\n  "Dogs" : 386\n  "Cats" : 85',
    "mindmap": "mindmap\n  root((mind))\n    A\n    B",
    "class": "classDiagram\n  Animal <|-- Duck\n  Animal : +int age",
    "state": "stateDiagram-v2\n  [*] --> Still\n  Still --> [*]",
    "entities": "erDiagram\n  CUSTOMER ||--o{ ORDER : places",
}
FAR = "http://elsewhere.example"
HOSTILE = {
    "click": f'flowchart TD\n  A --> B\n  click A "javascript:{ACTS}"\n'
    f'  click B call alert()\n  click A href "{FAR}"',
    "label": f'flowchart TD\n  A["<img src=x onerror={ACTS}>'
    f'<script>{ACTS}</script><iframe src={FAR}></iframe>"] --> B',
    "directive": '%%{init: {"securityLevel": "loose", "htmlLabels": true, '
    '"flowchart": {"htmlLabels": true}, "secure": [], "themeCSS": '
    f'"* {{ background: url({FAR}/x) }}"}}}}%%\n'
    f'flowchart TD\n  A["<img src={FAR}/y onerror={ACTS}>"] --> B\n'
    f'  click A "javascript:{ACTS}"',
    "style": f'flowchart TD\n  A["<b style=color:red onclick={ACTS}>x</b>"] --> B\n'
    "  style A fill:#f9f,stroke:#333\n  classDef x fill:#bbf\n  class B x",
    "icon": f'flowchart TD\n  A@{{ img: "{FAR}/z.png", label: "x" }} --> B',
}
UNDRAWN = {
    "flowchart TD\n  A --> ": "may have a mistake",
    "nothing known": "may have a mistake",
    f"flowchart TD\n  A[{'x' * 10_000}]": "too large",
    "flowchart TD\n" + "A-->B\n" * 201: "may have a mistake",
}
"""What the page says of each."""


def fenced(source: str) -> str:
    return f"```mermaid\n{source}\n```"


async def blocks_of(page: Page, *sources: str) -> Locator:
    """Return the blocks of code in an answer of diagrams, which has ended."""
    await runs.ask_worker(page, "scripted", say("\n\n".join(map(fenced, sources))))
    await runs.ends(page)
    return page.locator("#run-answer .code-block")


async def svg_of(block: Locator) -> str:
    """Return the image that a block shows, once it is there, as its own source."""
    image = block.locator(".diagram img")
    await expect(image).to_be_visible()
    assert await image.evaluate("image => image.decode().then(() => image.complete)")
    address = await image.get_attribute("src") or ""
    assert address.startswith("data:image/svg+xml")
    return unquote(address)


async def test_diagrams_take_the_place_of_their_sources(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    blocks = await blocks_of(page, FLOWCHART, SEQUENCE)
    assert "Start" in await svg_of(blocks.first)
    assert "Hello" in await svg_of(blocks.last)
    await expect(blocks.locator("pre")).to_have_count(2)
    await expect(blocks.last.locator("pre")).to_be_hidden()
    await expect(blocks.last.get_by_role("img")).to_have_accessible_name(
        "Diagram: Two people"
    )
    await expect(page.locator("iframe")).to_have_count(0)


async def test_no_kind_of_diagram_breaks_the_policy(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    blocks = await blocks_of(page, *KINDS.values())
    await expect(blocks).to_have_count(len(KINDS))
    for block in await blocks.all():
        assert "<svg" in await svg_of(block)


async def test_source_is_reached_and_copied_by_keyboard(visit, site, hire):
    await hire("scripted")
    visitor = await visit(
        site.cast.alice, permissions=["clipboard-read", "clipboard-write"]
    )
    page = visitor.page
    block = await blocks_of(page, FLOWCHART)
    await block.get_by_role("button", name="Source").press("Enter")
    await expect(block.locator("pre")).to_have_text(FLOWCHART)
    await expect(block.locator("img")).to_be_hidden()
    await block.get_by_role("button", name="Copy").press("Enter")
    await expect(block.get_by_role("button", name="Copied")).to_be_visible()
    copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == FLOWCHART
    back = block.get_by_role("button", name="Diagram")
    await expect(back).not_to_be_focused()
    await back.press("Enter")
    await expect(block.locator("img")).to_be_visible()
    await expect(block.get_by_role("button", name="Source")).to_be_focused()


async def test_diagram_is_enlarged_and_closed_by_keyboard(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    block = await blocks_of(page, FLOWCHART)
    await block.get_by_role("button", name="Enlarge").press("Enter")
    image = page.get_by_role("dialog", name="Diagram").get_by_role("img")
    await expect(image).to_be_visible()
    width = (await image.bounding_box() or {})["width"]
    await page.get_by_role("button", name="Make larger").press("Enter")
    assert (await image.bounding_box() or {})["width"] > width
    await page.keyboard.press("Escape")
    await expect(page.locator(".diagram-dialog")).to_have_count(0)
    await expect(block.get_by_role("button", name="Enlarge")).to_be_focused()


async def test_hostile_diagrams_do_nothing(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    blocks = await blocks_of(page, *HOSTILE.values(), FLOWCHART)
    await svg_of(blocks.last)
    for name, block in zip(HOSTILE, await blocks.all(), strict=False):
        await expect(block).to_have_attribute(
            "data-diagram", re.compile("drawn|failed")
        )
        image = block.locator("img")
        if await image.count():
            await image.click()
            assert acting_tags(await svg_of(block)) == [], name
        assert await page.evaluate("window.acted") is None, name
        assert "/conversations/" in page.url, name


def acting_tags(svg: str) -> list[str]:
    """Return the tags of an image that could act if it were part of the page."""
    tags = [tag.lower() for tag in re.findall(r"<[a-zA-Z][^>]*", svg)]
    acts = re.compile(r"^<(script|iframe|object)|\son\w+=|javascript:")
    return [tag for tag in tags if acts.search(tag)]


async def test_sources_that_cannot_be_drawn_stay(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    blocks = await blocks_of(page, *UNDRAWN, FLOWCHART)
    await expect(blocks).to_have_count(len(UNDRAWN) + 1)
    for note, block in zip(UNDRAWN.values(), await blocks.all(), strict=False):
        await expect(block.locator(".code-block__note")).to_contain_text(note)
        await expect(block.locator("pre")).to_be_visible()
        await expect(block.get_by_role("button")).to_have_text(["Copy"])
    await svg_of(blocks.last)


async def test_diagram_without_an_end_is_given_up(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    script = (settings.BASE_DIR / "static/js/diagram-frame.js").read_text()
    stuck = 'if (data.source.includes("endless")) for (;;);'
    changed = script.replace(
        'addEventListener("message",',
        f'addEventListener("message", ({{ data }}) => {{ {stuck} }});\n'
        '  addEventListener("message",',
    )
    await page.route(
        "**/diagram-frame.*.js",
        lambda route: route.fulfill(body=changed, content_type="text/javascript"),
    )
    blocks = await blocks_of(page, "flowchart TD\n  A[endless]", FLOWCHART)
    note = blocks.first.locator(".code-block__note")
    await expect(note).to_contain_text("takes too long")
    await svg_of(blocks.last)


async def test_diagram_is_drawn_when_its_answer_has_ended(visit, site, hire, models):
    await hire("scripted-30")
    models.hold()
    page = (await visit(site.cast.alice)).page
    text = f"{fenced(FLOWCHART)}\n\n" + "More words. " * 60
    await runs.ask_worker(page, "scripted-30", say(text))
    live = page.locator("#run-answer [data-mirror]")
    await expect(live).to_contain_text("More words.")
    await expect(live.locator("pre")).to_be_visible()
    await expect(live.locator(".code-block")).not_to_have_attribute(
        "data-diagram", re.compile(".")
    )
    models.release()
    await runs.ends(page)
    await svg_of(page.locator("#run-answer .code-block"))


async def test_diagram_has_the_colours_of_the_theme(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    block = await blocks_of(page, FLOWCHART)
    light = await svg_of(block)
    await page.emulate_media(color_scheme="dark")
    await expect(block.locator("img")).not_to_have_attribute(
        "src", await block.locator("img").get_attribute("src") or ""
    )
    assert await svg_of(block) != light


async def test_diagram_is_accessible_and_fits_a_phone(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    wide = "flowchart LR\n" + "\n".join(f"  A{n} --> A{n + 1}" for n in range(20))
    blocks = await blocks_of(page, FLOWCHART, wide)
    await svg_of(blocks.last)
    await page.evaluate(AXE_SCRIPT)
    assert await page.evaluate(FAULTS, "#run-answer") == []
    await page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    await fits(page)
    await blocks.last.get_by_role("button", name="Enlarge").click()
    assert await page.evaluate(FAULTS, ".diagram-dialog") == []
    box = await page.locator(".diagram-dialog img").bounding_box() or {}
    assert box["x"] > 0 and box["x"] + box["width"] < PHONE[0]
    await fits(page)


async def test_page_without_a_diagram_loads_no_library(visit, site, hire):
    await hire("scripted")
    page = (await visit(site.cast.alice)).page
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    await runs.ask_worker(page, "scripted", say("```\ngraph\n```"))
    await runs.ends(page)
    assert not [url for url in loaded if "mermaid" in url or "diagram" in url]


async def test_library_is_the_one_that_its_page_names():
    folder = settings.BASE_DIR / "static/vendor/mermaid"
    digest = hashlib.sha256((folder / "mermaid.min.js").read_bytes()).hexdigest()
    named = re.search(r"`([0-9a-f]{64})`", (folder / "README.md").read_text())
    assert named and named[1] == digest
