"""All state of a process is known to the tests: `tests/process_state.py` names it."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import pkgutil
import random
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from tests.process_state import KEPT, RESET, RESET_BY_CALL, process_state_reset

PACKAGES = ("apps", "conductor_site")
NOT_IMPORTED = (
    "apps.attachments.reading.reader",  # programs of processes of their own
    "apps.evaluation.suites.parquet_reader",
    "apps.sandbox",
    "apps.training.conductor.testing",
    "apps.training.trainer",
    "apps.training.fitting",
    "apps.audit.bundles.verifier",
    "conductor_site.forwarded",  # wraps the application once more
    "conductor_site.settings",
    "conductor_site.worker",
)
NOT_IMPORTED_PARTS = {"__main__", "commands", "migrations"}
CONTAINERS = (dict, list, set, deque, weakref.WeakSet, random.Random)
"""What changes; with a name in capitals it is a constant."""
ROUTES = "urlpatterns", "notice_patterns"
"""How the names of lists of addresses end."""
CACHE = type(functools.lru_cache(lambda: None))


def modules() -> Iterator[ModuleType]:
    """Yield the modules that processes of the site may import."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages([package], f"{package}."):
            is_left_out = found.name.startswith(NOT_IMPORTED)
            if not is_left_out and not NOT_IMPORTED_PARTS & set(found.name.split(".")):
                yield importlib.import_module(found.name)


def rebound_names(module: ModuleType) -> set[str]:
    """Return the names of a module that its functions bind anew."""
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    return {name for statement in statements for name in statement.names}


def is_state(name: str, value: Any) -> bool:
    """Return whether an object of a module may change while the site runs."""
    kind: Any = type(value)
    if isinstance(value, CACHE):
        return True
    if isinstance(value, CONTAINERS):
        return name != name.upper() and not name.endswith(ROUTES)
    is_own = kind.__module__.startswith(PACKAGES) and not isinstance(value, type)
    if not is_own or issubclass(kind, enum.Enum | BaseModel):
        return False
    if parameters := getattr(kind, "__dataclass_params__", None):
        return not parameters.frozen
    return hasattr(value, "__dict__")


def is_home(module: ModuleType, name: str, value: Any) -> bool:
    """Return whether it is this module that makes an object, and not only uses it."""
    if isinstance(value, CACHE):
        return str(value.__module__) == module.__name__
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
    targets = (
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )
    return name in {target.id for target in targets if isinstance(target, ast.Name)}


def state() -> set[str]:
    """Return the full names of all that may change."""
    return {
        f"{module.__name__}.{name}"
        for module in modules()
        for rebound in (rebound_names(module),)
        for name, value in vars(module).items()
        if name in rebound
        or (
            not name.startswith("__")
            and is_state(name, value)
            and is_home(module, name, value)
        )
    }


def test_every_state_of_a_process_is_reset_or_kept_for_a_reason() -> None:
    known = RESET.keys() | RESET_BY_CALL.keys() | KEPT.keys()
    assert state() ^ known == set()


def test_after_a_reset_nothing_is_remembered() -> None:
    from apps.accounts.guesses import guesses
    from apps.core.redis_outage import redis_outage
    from conductor_site.serving.drain import drain

    redis_outage.begin(OSError())
    drain.begin(notice_s=1, drain_s=1)
    guesses_before = vars(guesses).copy()
    process_state_reset()
    assert not redis_outage.is_on
    assert not drain.has_begun
    assert vars(guesses).keys() == guesses_before.keys()
    assert sys.modules["conductor_site.serving.drain"].drain is drain
