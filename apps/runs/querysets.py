"""Filters of the tables of this app that read as words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

import orjson
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler

from apps.core.scoping import TeamQuerySet
from apps.runs.types import FaultName

KEY_LIFETIME = timedelta(hours=24)
"""How long an idempotency key stands for its run."""
ModelT = TypeVar("ModelT", bound=models.Model)


class IdempotencyKeys(TeamQuerySet[ModelT]):
    """Idempotency keys."""

    def over(self, now: datetime) -> Self:
        """Keep those whose day is over."""
        return self.filter(claimed_at__lt=now - KEY_LIFETIME)


class HasFinding(models.Func):
    """Says whether a list of findings has one with this stage, fault and worker.

    JSON is looked into otherwise by each database.
    """

    output_field = models.BooleanField()

    def __init__(self, column: str, wanted: FaultName) -> None:
        super().__init__(models.F(column))
        self.wanted = wanted

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return the SQL for SQLite."""
        column, params = compiler.compile(self.source_expressions[0])
        same = " AND ".join(
            f"json_extract(value, '$.{name}') = %s" for name in self.wanted._fields
        )
        sql = f"EXISTS(SELECT 1 FROM json_each({column}) WHERE {same})"  # nosec B608
        return sql, (*params, *self.wanted)

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return the SQL for PostgreSQL."""
        column, params = compiler.compile(self.source_expressions[0])
        wanted = orjson.dumps([self.wanted._asdict()]).decode()
        return f"({column} @> %s::jsonb)", (*params, wanted)
