"""How scripts and style sheets are joined, and what cannot be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from django.conf import settings

from conductor_site.serving.joining import SHARED, CannotJoin, Joiner

STATIC = settings.BASE_DIR / "static"
SCRIPT = re.compile(r"""<script type="module" src="{% static '([^']+)' %}""")
CONSOLE = "js/console.js"
"""The script of all pages of the console."""
WORDS = "export function say(text) { return text; }\n"
PAGE = 'import { say } from "./words.js";\n\nsay("page");\n'


def joiner_of(files: Mapping[str, str]) -> Joiner:
    return Joiner(files.__getitem__, lambda name: name.replace(".", ".0."))


def site_joiner() -> Joiner:
    return Joiner(lambda name: (STATIC / name).read_text(), lambda name: name)


def test_a_script_is_joined_with_its_modules_in_their_order():
    files = {
        SHARED: "",
        "js/a.js": 'import { b as other } from "./b.js";\nother();\n',
        "js/b.js": 'import { c } from "./c.js";\nexport const b = () => c();\n',
        "js/c.js": "export async function c() {}\n",
    }
    assert joiner_of(files).joined("js/a.js") == (
        "/* c.js */\n"
        "const $c = (() => {\nasync function c() {}\n\nreturn { c };\n})();\n\n"
        "/* b.js */\n"
        "const $b = (() => {\nconst { c } = $c;\nconst b = () => c();\n\n"
        "return { b };\n})();\n\n"
        "const { b: other } = $b;\nother();\n"
    )


def test_a_script_takes_modules_of_all_pages_from_their_script():
    script = 'import { say } from "./words.js";\nsay("hello");\n'
    joiner = joiner_of({SHARED: PAGE, "js/a.js": script, "js/words.js": WORDS})
    assert joiner.joined("js/a.js") == (
        'import { $words } from "./page.0.js";\n\n'
        'const { say } = $words;\nsay("hello");\n'
    )
    assert joiner.joined(SHARED).endswith("\nexport { $words };\n")


def test_a_style_sheet_takes_the_place_of_its_import():
    sheet = '/* a */\n@import "b.css";\na { background: url("../c.svg"); }\n'
    joined = joiner_of({"css/a.css": sheet, "css/b.css": "b {}\n"}).joined("css/a.css")
    assert joined == '/* a */\nb {}\n\na { background: url("../c.0.svg"); }\n'


@pytest.mark.parametrize(
    "module",
    [
        "export default 1;\n",
        "export let b = 1;\n",
        "const b = 1;\nexport { b };\n",
        'import c from "./c.js";\n',
        'import * as c from "./c.js";\n',
        'import "./c.js";\n',
        'import { a } from "./a.js";\n',
    ],
)
def test_unknown_forms_and_circles_of_modules_are_refused(module):
    script = 'import { b } from "./b.js";\n'
    files = {SHARED: "", "js/a.js": script, "js/b.js": module, "js/c.js": ""}
    with pytest.raises(CannotJoin):
        joiner_of(files).joined("js/a.js")


@pytest.mark.parametrize("path", sorted(STATIC.glob("js/*.js")), ids=lambda p: p.name)
def test_each_script_of_the_site_can_be_joined(path: Path):
    assert site_joiner().joined(f"js/{path.name}")


def test_no_module_runs_twice_on_a_page():
    joiner = site_joiner()
    shared = set(joiner.modules(SHARED))
    several = 0
    for template in settings.BASE_DIR.glob("templates/**/*.html"):
        names = {CONSOLE, *SCRIPT.findall(template.read_text())} - {SHARED}
        several += len(names) > 2
        for one, other in combinations(sorted(names), 2):
            both = set(joiner.modules(one)) & set(joiner.modules(other))
            assert both <= shared, (template.name, one, other)
    assert several > 1
