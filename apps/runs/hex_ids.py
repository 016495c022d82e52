"""Ids read as text: where they are only compared, UUID objects cost too much."""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, Func


class HexId(Func):
    """An id as 32 hexadecimal digits. SQLite makes an empty text of NULL."""

    arity = 1
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of SQLite, which stores 16 bytes."""
        template = "lower(hex(%(expressions)s))"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Return the SQL of PostgreSQL, whose own text has hyphens."""
        template = "replace(%(expressions)s::text, '-', '')"
        return self.as_sql(compiler, connection, template=template, **context)
