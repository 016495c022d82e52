"""A person's hands on a page: what they click and type is counted."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect


class Hands:
    """Uses a page as a person does, and counts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.fields = 0

    async def click(self, place: Locator) -> None:
        """Click something that is there."""
        self.clicks += 1
        await place.click()

    async def press(self, name: str) -> None:
        """Press the button, or follow the link, of this name."""
        button = self.page.get_by_role("button", name=name, exact=True)
        link = self.page.get_by_role("link", name=name, exact=True)
        await self.click(button.or_(link).locator("visible=true"))

    async def mark(self, *models: str) -> None:
        """Mark these models, and no others."""
        boxes = self.page.locator("input[name=models]")
        await expect(boxes.first).to_be_visible()
        for box in await boxes.all():
            wanted = await box.get_attribute("value") in models
            if await box.is_checked() != wanted:
                await self.click(box)

    async def write(self, label: str, words: str) -> None:
        """Type into a field."""
        self.fields += 1
        await self.page.get_by_label(label, exact=True).fill(words)
