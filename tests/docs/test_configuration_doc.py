"""docs/configuration.md lists every environment variable, and none that is not read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs.reading import page

READERS = {
    "read_text",
    "read_bool",
    "read_choice",
    "read_days",
    "read_int",
    "read_list",
    "read_origins",
    "read_url",
    "read_web_address",
}
DOC = page("docs/configuration.md")
LISTED = re.findall(r"^\| `([A-Z_]+)` \|", DOC, re.M)


def called_with_a_name(path: str, functions: set[str]) -> Iterator[str]:
    """Yield the first argument of each call of one of `functions`."""
    for node in ast.walk(ast.parse(page(path))):
        if isinstance(node, ast.Call) and node.args:
            function, name = ast.unparse(node.func), node.args[0]
            if function in functions and isinstance(name, ast.Constant):
                yield str(name.value)


def test_every_variable_is_listed_once():
    read = {
        *called_with_a_name("conductor_site/settings.py", READERS),
        *called_with_a_name("deploy/demo.py", {"os.environ.get"}),
    }
    assert len(read) > 20
    assert sorted(LISTED) == sorted(read)


def test_every_number_is_the_one_in_the_settings():
    settings = page("conductor_site/settings.py")
    numbers = dict(re.findall(r'read_int\("(\w+)", ([\d_]+)\)', settings))
    listed = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", DOC, re.M))
    wanted = {name: value.replace("_", "") for name, value in numbers.items()}
    assert wanted.items() <= listed.items()
