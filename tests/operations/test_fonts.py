"""The site's fonts: cut to the weights in use, as their page says."""

from __future__ import annotations

import hashlib
import re

import pytest
from django.conf import settings

STATIC = settings.BASE_DIR / "static"
WEIGHT = re.compile(r"font(?:-weight)?: (\d{3})\b(?! \d{3};)")
LIGHTEST, BOLDEST = 400, 700


@pytest.mark.parametrize("name", ["inter.woff2", "jetbrains-mono.woff2"])
def test_font_is_the_one_that_its_page_names(name):
    digest = hashlib.sha256((STATIC / "fonts" / name).read_bytes()).hexdigest()
    page = (STATIC / "fonts/README.md").read_text()
    assert f"| `{name}` | `{digest}` |" in page


def test_style_sheets_use_no_weight_that_was_cut_off():
    sheets = {path.name: path.read_text() for path in STATIC.glob("css/*.css")}
    cut = f"font-weight: {LIGHTEST} {BOLDEST};"
    assert sheets["tokens.css"].count(cut) == 2
    weights = {
        int(weight) for text in sheets.values() for weight in WEIGHT.findall(text)
    }
    assert len(weights) > 5
    assert LIGHTEST <= min(weights) <= max(weights) <= BOLDEST
