"""A name means one thing: class names stand once, public functions in two modules."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("apps", "conductor_site")
SAME_CLASSES = {
    # What Django finds by its name.
    "Command": "one in each module of management commands",
    "DatabaseWrapper": "a backend for each database",
    # Inputs that REST describes and a service checks.
    "ConductorInput": "REST and services",
    "CredentialInput": "REST and services",
    "EndpointInput": "REST and services",
    "PoolInput": "REST and services",
    "PriceInput": "REST and services",
    "WorkerInput": "REST and services",
    # The engine knows no Django: its own value beside the row.
    "Pool": "engine and models",
    "PoolWorker": "engine and models",
    "Price": "engine and models",
    # The engine knows no protocol: what it hears beside what was sent.
    "Delta": "engine and llm",
    "ToolCallDelta": "engine and llm",
    # The faults of providers, always named as `errors.…`, and our own.
    "NotFound": "llm and core",
    "RateLimited": "llm and budgets",
}
"""Class names that stand in several modules, and where."""
SAME_FUNCTIONS = {
    "dollars": "money as forms and rows write it",
    "encode": "each its own format",
    "error": "protocols of the simulator",
    "main": "programs",
    "read": "requests of the simulator",
    "read_answer": "protocols",
    "read_tools": "protocols",
    "solve": "families of the simulator's questions",
    "usage": "protocols of the simulator",
    "usage_document": "protocols of the gateway",
}
"""Public functions that stand in more than two modules, and what they are."""
METAPHORS = {
    "allowance",
    "asker",
    "caretaker",
    "doorbell",
    "eldest",
    "equipment",
    "hands",
    "hire",
    "hiring",
    "joint",
    "knock",
    "notary",
    "nobodys",
    "retold",
    "scribe",
    "seat",
    "shelf",
    "speaker",
    "teller",
    "tenure",
    "treasurer",
    "turnstile",
    "verdict",
    "voice",
    "wish",
    "wishes",
    "witness",
    "witnesses",
}
"""Words for which the field has terms; docs/glossary.md has them."""

REVIEWS = {"Verdict", "review_verdict", "verdict_label"}
"""What a reviewer decides is a verdict, and nothing else is."""
MODELS = {"WorkerStatus", "worker", "worker_statuses"}
"""Names with "worker" where processes are coordinated: those of models."""
PROCESSES = {"WORKER", "WORKER_DRAIN_S"}
"""Of worker processes: `ProcessKind.WORKER` and a public setting."""


def test_names_are_terms_of_the_field() -> None:
    definitions = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    names = set()
    for path in _sources():
        tree = ast.parse(path.read_text())
        inside = (node for node in ast.walk(tree) if isinstance(node, definitions))
        names |= {path.stem, *(node.name for node in inside)}
    assert {name for name in names if METAPHORS & _words(name)} == REVIEWS


def test_a_caller_is_an_api_client_and_a_worker_is_a_model() -> None:
    """So the product's code names neither itself a caller nor a process a worker."""
    assert [str(path) for path in _sources() if "caller" in _identifiers(path)] == []
    processes = {"conductor_site/background.py", "conductor_site/runtime.py"}
    coordination = ROOT / "apps/runs/coordination"
    found = {ROOT / path for path in processes} | set(coordination.glob("*.py"))
    names = {name for path in found for name in _identifiers(path, whole=True)}
    assert {name for name in names if "worker" in _words(name)} <= MODELS | PROCESSES


def test_class_names_stand_once() -> None:
    found = _modules_of(lambda node: isinstance(node, ast.ClassDef))
    several = {name for name, modules in found.items() if len(modules) > 1}
    assert several == set(SAME_CLASSES), _places(found, several ^ set(SAME_CLASSES))


def test_public_function_names_stand_in_two_modules_at_most() -> None:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = _modules_of(lambda node: isinstance(node, functions))
    many = {name for name, modules in found.items() if len(modules) > 2}
    assert many == set(SAME_FUNCTIONS), _places(found, many ^ set(SAME_FUNCTIONS))


def _modules_of(is_wanted: Callable[[ast.stmt], bool]) -> dict[str, list[str]]:
    """Return the modules of each public name at a module's top level."""
    found = defaultdict(list)
    for path in _sources():
        for node in ast.parse(path.read_text()).body:
            name = getattr(node, "name", "_")
            if is_wanted(node) and not name.startswith("_"):
                found[name].append(str(path.relative_to(ROOT)))
    return found


def _sources() -> list[Path]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return sorted(path for path in found if path.parent.name != "migrations")


def _identifiers(path: Path, *, whole: bool = False) -> set[str]:
    """Return the names that a module defines or uses, or the words in them."""
    names = {path.stem}
    for node in ast.walk(ast.parse(path.read_text())):
        for field in ("id", "attr", "arg", "name"):
            names |= (
                {value} if isinstance(value := getattr(node, field, 0), str) else set()
            )
    return names if whole else {word for name in names for word in _words(name)}


def _words(name: str) -> set[str]:
    """Return the words of a name, in lower case."""
    return set(re.sub("([a-z])([A-Z])", r"\1_\2", name).lower().split("_"))


def _places(found: dict[str, list[str]], names: set[str]) -> str:
    """Say where names stand that are listed and should not be, or the reverse."""
    return "\n".join(f"{name}: {', '.join(found[name])}" for name in sorted(names))
