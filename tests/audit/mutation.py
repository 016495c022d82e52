"""The product's verifier without one of the faults that it reports.

Each place in its code that makes a fault becomes one that makes none. Only the code of
that function is exchanged, so all modules that have imported it are affected.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from apps.audit import chain, checking, macs, verify
from apps.audit.checkpoints import verification as checkpoints
from apps.audit.merkle import verification as merkle

MODULES = (verify, checking, checkpoints, chain, macs, merkle)


@dataclass(frozen=True)
class Mutant:
    """A function of the verifier as it is without one of its faults."""

    name: str
    """Function, line, and what is missing."""
    function: FunctionType
    code: CodeType

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Run the function without the fault meanwhile."""
        own = self.function.__code__
        self.function.__code__ = self.code
        try:
            yield
        finally:
            self.function.__code__ = own


def mutants() -> list[Mutant]:
    """Return one for each place that makes a fault."""
    return [each for module in MODULES for each in _mutants_of(module)]


def _mutants_of(module: ModuleType) -> Iterator[Mutant]:
    source, number = inspect.getsource(module), 0
    while True:
        without = _Without(number, takes_conditions=module is chain)
        tree = ast.fix_missing_locations(without.visit(ast.parse(source)))
        if not without.removed:
            return
        codes = _codes(compile(tree, str(module.__file__), "exec"))
        function = _function(module, without.within)
        name = f"{module.__name__}.{without.within} {without.removed}"
        yield Mutant(name, function, codes[without.within])
        number += 1


class _Without(ast.NodeTransformer):
    """Removes one place: a fault that is made, or a kind of fault that is returned.

    `takes_conditions`: what stands under a condition goes with it, where what is
    returned beside a fault must stay right.
    """

    def __init__(self, number: int, *, takes_conditions: bool) -> None:
        self._left = number
        self._takes_conditions = takes_conditions
        self._names: list[str] = []
        self.within = ""
        """Qualified name of the function."""
        self.removed = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._inside(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self._takes_conditions and self._is_the_one(node.test):
            node.test = ast.Constant(False)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        is_fault = isinstance(node.func, ast.Name) and node.func.id == "ChainFault"
        if self._takes_conditions or not is_fault or not self._is_the_one(node):
            return node
        return ast.Constant(None)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        value = node.value
        is_kind = isinstance(value, ast.Attribute) and ast.unparse(value).startswith(
            "FaultKind."
        )
        if is_kind and self._is_the_one(node):
            return ast.Return(ast.Constant(None))
        return node

    def _inside(self, node: Any) -> ast.AST:
        self._names.append(node.name)
        self.generic_visit(node)
        self._names.pop()
        return node  # type: ignore[no-any-return]

    def _is_the_one(self, node: ast.expr | ast.stmt) -> bool:
        is_found, self._left = self._left == 0, self._left - 1
        if is_found:
            self.within = ".".join(self._names)
            self.removed = f"line {node.lineno}: {ast.unparse(node)}"
        return is_found


def _codes(code: CodeType) -> dict[str, CodeType]:
    """Return the code of each function below, by qualified name."""
    found = {code.co_qualname: code}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            found |= _codes(each)
    return found


def _function(module: ModuleType, name: str) -> FunctionType:
    found: Any = module
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    function = found.fget if isinstance(found, property) else found
    assert isinstance(function, FunctionType)
    return function
