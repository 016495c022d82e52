"""Joins the files that a page would load one after the other: scripts, style sheets.

The sources stay ES modules and style sheets that a browser can load as they are. A
script is joined with the modules it imports, each in a function of its own. It imports
those of `SHARED`, the script of all pages, from there, so that no module runs twice on
a page. A style sheet takes the place of the `@import` that names it. Nothing is
shortened: what people read in their browser is the source.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from functools import cache

SHARED = "js/page.js"
"""The script that every page loads."""
IMPORT = re.compile(
    r'^import \{(?P<names>[^}]*)\} from "(?P<path>\./[^"]+)";$', re.MULTILINE
)
EXPORT = re.compile(
    r"^export (?=(?:async function|function|class|const) (?P<name>\w+))", re.MULTILINE
)
UNKNOWN = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
SCRIPT_REFERENCE = re.compile(
    r'(?P<before>^import [^"]*from |await import\(|new URL\()"(?P<path>\.\.?/[^"]+)"',
    re.MULTILINE,
)
SHEET_REFERENCE = re.compile(
    r'(?P<before>^@import |url\()"(?P<path>[^":]+)"', re.MULTILINE
)
SHEET_IMPORT = re.compile(r'^@import "(?P<path>[^"]+)";$', re.MULTILINE)
SCRIPTS, SHEETS = "js/", "css/"
"""Folders of sources. Files elsewhere are served as they are."""
ENDINGS = (".js", ".css")


class CannotJoin(ValueError):
    """A script imports or exports in a way that joining does not know."""


class Joiner:
    """Joins the sources of one state of the site."""

    def __init__(
        self, text_of: Callable[[str], str], address_of: Callable[[str], str]
    ) -> None:
        """Take how to read a file, and how pages address it, by its name."""
        self._text_of = text_of
        self._address_of = address_of
        self.modules = cache(self._modules)

    def joined(self, name: str) -> str:
        """Return what a page gets for a script or style sheet."""
        if name.startswith(SHEETS):
            return self._with_addresses(name, self._sheet(name), SHEET_REFERENCE)
        return self._with_addresses(name, self._script(name), SCRIPT_REFERENCE)

    def references(self, name: str) -> list[str]:
        """Return the names of the files that a file names."""
        pattern = SHEET_REFERENCE if name.startswith(SHEETS) else SCRIPT_REFERENCE
        found = pattern.finditer(self._text_of(name))
        names = [beside(name, reference["path"]) for reference in found]
        # A joined script that imports modules takes some of them from there.
        return [*names, SHARED] if IMPORT.search(self._text_of(name)) else names

    def _modules(self, name: str) -> tuple[str, ...]:
        """Return the modules that a script needs, in the order in which they run."""
        order: dict[str, None] = {}

        def visit(module: str, above: tuple[str, ...]) -> None:
            if module in above:
                raise CannotJoin(f"{module} imports itself, by {above[-1]}")
            for used in self._imports(module):
                if used not in order:
                    visit(used, (*above, module))
            order[module] = None

        visit(name, ())
        return tuple(order)[:-1]

    def _imports(self, name: str) -> list[str]:
        found = IMPORT.finditer(self._text_of(name))
        return [beside(name, statement["path"]) for statement in found]

    def _script(self, name: str) -> str:
        modules = self.modules(name)
        shared = () if name == SHARED else self.modules(SHARED)
        own = [module for module in modules if module not in shared]
        direct = {used for module in (*own, name) for used in self._imports(module)}
        parts = [self._function(module) for module in own]
        taken = ", ".join(_variable(used) for used in shared if used in direct)
        if taken:
            parts.insert(
                0, f'import {{ {taken} }} from "./{posixpath.basename(SHARED)}";\n'
            )
        parts.append(IMPORT.sub(_reading, self._text_of(name)))
        if name == SHARED:
            parts.append(f"export {{ {', '.join(map(_variable, modules))} }};\n")
        return "\n".join(parts)

    def _function(self, name: str) -> str:
        """Return a module as a function that runs at once and returns its exports."""
        text = self._text_of(name)
        exports = [export["name"] for export in EXPORT.finditer(text)]
        body = EXPORT.sub("", IMPORT.sub(_reading, text))
        if unknown := UNKNOWN.search(body):
            raise CannotJoin(f"{name}: {unknown[0]}")
        return (
            f"/* {posixpath.basename(name)} */\n"
            f"const {_variable(name)} = (() => {{\n{body}\n"
            f"return {{ {', '.join(exports)} }};\n}})();\n"
        )

    def _sheet(self, name: str) -> str:
        def imported(statement: re.Match[str]) -> str:
            return self._sheet(beside(name, statement["path"]))

        return SHEET_IMPORT.sub(imported, self._text_of(name))

    def _with_addresses(self, name: str, text: str, pattern: re.Pattern[str]) -> str:
        """Return a text whose references hold, from where it stands, for this state."""
        folder = posixpath.dirname(name)

        def addressed(reference: re.Match[str]) -> str:
            address = self._address_of(beside(name, reference["path"]))
            path = posixpath.relpath(address, folder)
            return f'{reference["before"]}"{path if path[0] == "." else f"./{path}"}"'

        return pattern.sub(addressed, text)


def beside(name: str, path: str) -> str:
    """Return the name of the file that has this path in the file of that name."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def is_joined(name: str) -> bool:
    """Say whether a file is one of ours that may name others."""
    return name.startswith((SCRIPTS, SHEETS)) and name.endswith(ENDINGS)


def reached(name: str, references: Mapping[str, list[str]]) -> set[str]:
    """Return a file and all that it names, directly or not."""
    found, waiting = {name}, [name]
    while waiting:
        fresh = set(references.get(waiting.pop(), ())) - found
        found |= fresh
        waiting += fresh
    return found


def _variable(module: str) -> str:
    stem = posixpath.splitext(posixpath.basename(module))[0]
    return "$" + stem.replace("-", "_")


def _reading(statement: re.Match[str]) -> str:
    """Return the statement that takes the imported names out of their module."""
    names = statement["names"].replace(" as ", ": ").strip()
    return f"const {{ {names} }} = {_variable(statement['path'])};"
