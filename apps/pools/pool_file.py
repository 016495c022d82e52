"""The pool file: its shape, its rules, and reading it from YAML.

Guarantees: what `document_parse` returns is complete and consistent in itself; every
fault names the path to it (`workers[2].price.input`) and quotes no value, because a
secret written in the wrong place must not end up in a log. Knows no database.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Hashable
from decimal import Decimal, InvalidOperation
from typing import Any, Self

import yaml
from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, faults_of
from apps.pools.attributes import (
    ConductorAttributes,
    EndpointAttributes,
    TierDocument,
    WorkerAttributes,
)
from apps.pools.errors import PoolDocumentInvalid
from apps.pools.models import (
    EMBEDDING_PROTOCOLS,
    ConductorMode,
    TierName,
    WorkerKind,
)
from apps.pools.value_types import (
    Name,
    Tag,
    Usd,
    VariableName,
    price_columns,
)

MAX_DOCUMENT_BYTES = 1_000_000
MAX_WORKERS = 100
MAX_CONDUCTORS = 20

# --- parts ---------------------------------------------------------------------------


class PriceDocument(InputPart):
    """A price in US dollars per million tokens, from a day on."""

    valid_from: dt.date
    input: Usd
    output: Usd
    cached_input: Usd | None = None

    def micros(self) -> dict[str, int | None]:
        """Return the price in whole micro-dollars, under the names of the table."""
        return price_columns(self.input, self.output, self.cached_input)


class EndpointDocument(EndpointAttributes):
    """Where a model is served, in a file."""

    api_key_env: VariableName | None = None
    """Name of the environment variable that holds the key; never the key itself."""
    price: PriceDocument | None = None
    """None: unknown."""


class WorkerDocument(WorkerAttributes, EndpointDocument):
    """A worker."""

    tags: tuple[Tag, ...] = ()
    """As many as a file likes."""
    is_enabled: bool = Field(default=True, alias="enabled")
    may_substitute: bool = True
    """False: it takes over for no other worker of this pool."""


class ConductorDocument(ConductorAttributes, EndpointDocument):
    """The model that plans."""

    mode: ConductorMode = ConductorMode.LISTS


class PoolPart(InputPart):
    """The pool itself."""

    name: Name
    fallback: str
    """Name of the worker that takes over when another one fails."""
    retries_refusals: bool = False
    """True: another worker is asked after one has refused the content."""
    default: bool | None = None
    """None: keep what it is; a team's first pool becomes its default."""


class PoolDocument(InputPart):
    """A complete pool file."""

    pool: PoolPart
    conductor: ConductorDocument | None = None
    other_conductors: tuple[ConductorDocument, ...] = Field(
        default=(), max_length=MAX_CONDUCTORS
    )
    """Further conductors of the team, among which people choose for the pool."""
    workers: tuple[WorkerDocument, ...] = Field(min_length=1, max_length=MAX_WORKERS)
    tiers: dict[TierName, TierDocument] = {}

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        faults = [
            *_duplicate_names(self.workers),
            *_repeated_conductors(self),
            *_misplaced_kinds(self.workers),
        ]
        if self.pool.fallback not in {worker.name for worker in self.workers}:
            faults.append(f"pool.fallback: no worker is called {self.pool.fallback!r}")
        if any(
            worker.kind == WorkerKind.EMBEDDING and worker.name == self.pool.fallback
            for worker in self.workers
        ):
            faults.append("pool.fallback: it makes embeddings, and answers nothing")
        if self.conductor is None:
            faults += [
                f"tiers.{name}.planner: the file has no conductor to plan with"
                for name, tier in self.tiers.items()
                if tier.planner is not None and tier.planner.has_conductor
            ]
        faults += [
            f"tiers.{name}.max_calls: must be at least max_steps"
            for name, limits in self.tier_limits().items()
            if limits["max_calls"] < limits["max_steps"]
        ]
        if faults:
            raise PydanticCustomError("together", "{why}", {"why": "; ".join(faults)})
        return self

    def tier_limits(self) -> dict[TierName, dict[str, Any]]:
        """Return the tiers of the pool: mini, with a conductor ultra, any named."""
        has_conductor = self.conductor is not None
        names = [TierName.MINI, *([TierName.ULTRA] if has_conductor else [])]
        return {
            name: self.tiers.get(name, TierDocument()).limits(
                name, has_conductor=has_conductor
            )
            for name in TierName
            if name in names or name in self.tiers
        }


def _duplicate_names(workers: tuple[WorkerDocument, ...]) -> list[str]:
    names = [worker.name for worker in workers]
    return [
        f"workers[{index}].name: {name!r} is taken by workers[{names.index(name)}]"
        for index, name in enumerate(names)
        if names.index(name) != index
    ]


def _repeated_conductors(document: PoolDocument) -> list[str]:
    first = document.conductor
    taken = {"conductor": first.name} if first else {}
    faults = []
    for index, conductor in enumerate(document.other_conductors):
        path = f"other_conductors[{index}]"
        places = [place for place, name in taken.items() if name == conductor.name]
        if places:
            faults.append(f"{path}.name: {conductor.name!r} is taken by {places[0]}")
        taken[path] = conductor.name
    return faults


def _misplaced_kinds(workers: tuple[WorkerDocument, ...]) -> list[str]:
    return [
        f"workers[{index}].kind: the protocol {worker.protocol} has no embeddings"
        for index, worker in enumerate(workers)
        if worker.kind == WorkerKind.EMBEDDING
        and worker.protocol not in EMBEDDING_PROTOCOLS
    ]


# --- reading -------------------------------------------------------------------------


def document_parse(text: str) -> PoolDocument:
    """Read a pool file.

    Raises: PoolDocumentInvalid with one line per fault.
    """
    if len(text.encode()) > MAX_DOCUMENT_BYTES:
        raise PoolDocumentInvalid(
            [f"the file is longer than {MAX_DOCUMENT_BYTES} bytes"]
        )
    try:
        # Safe: `_Loader` is a SafeLoader.
        values = yaml.load(text, Loader=_Loader)  # nosec B506
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        # `from None`: the original message quotes the file, which may hold a secret.
        raise PoolDocumentInvalid([f"{place}{exc.problem}"]) from None
    except (yaml.YAMLError, RecursionError):
        raise PoolDocumentInvalid(["the file is not YAML"]) from None
    if not isinstance(values, dict):
        raise PoolDocumentInvalid(
            ["the file must hold pool, workers and so on by name"]
        )
    try:
        return PoolDocument.model_validate(values)
    except ValidationError as exc:
        faults = [f"{path}: {why}" if path else why for path, why in faults_of(exc)]
        raise PoolDocumentInvalid(faults) from exc


class _Loader(yaml.SafeLoader):
    """Safe YAML with exact decimals, and without aliases or repeated keys.

    Aliases are refused because a few lines of them can expand to gigabytes.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem="the same field twice", problem_mark=key.start_mark
                )
            seen.add(key.value if isinstance(key.value, str) else id(key))
        return super().construct_mapping(node, deep=deep)


def _construct_decimal(loader: _Loader, node: yaml.ScalarNode) -> Decimal:
    try:
        return Decimal(node.value.replace("_", ""))
    except InvalidOperation:
        raise yaml.MarkedYAMLError(
            problem="not a decimal number", problem_mark=node.start_mark
        ) from None


_Loader.add_constructor("tag:yaml.org,2002:float", _construct_decimal)
