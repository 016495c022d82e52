"""Team scoping: a query over a team's table must say whose rows it means.

`Model.objects.for_team(team_id)` or, for the few site-wide jobs, `.across_teams()`.
Any other query raises `UnscopedQuery` when it is about to reach the database. Related
access (`team.workers.all()`) is scoped by the row it starts from.
"""

from __future__ import annotations

import uuid
from typing import Any, Self, TypeVar

from django.db import models

ModelT = TypeVar("ModelT", bound=models.Model)


class UnscopedQuery(RuntimeError):
    """A query over team-owned rows named no team."""


class TeamQuerySet(models.QuerySet[ModelT]):
    """A queryset that refuses to run without a team."""

    _is_scoped = False

    def for_team(self, team_id: uuid.UUID) -> Self:
        """Keep the rows of one team."""
        return self.filter(team_id=team_id)._scoped()

    def across_teams(self) -> Self:
        """Allow rows of every team. For operators' commands and sign-in only."""
        return self.all()._scoped()

    def _scoped(self) -> Self:
        self._is_scoped = True
        return self

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]
        clone._is_scoped = self._is_scoped
        return clone

    def _refuse_unscoped(self) -> None:
        hints: dict[str, Any] = self._hints  # type: ignore[attr-defined]
        if not (self._is_scoped or hints.get("instance")):
            raise UnscopedQuery(
                f"{self.model.__name__}: say .for_team(team_id) or .across_teams()"
            )

    def _fetch_all(self) -> None:
        if self._result_cache is None:
            self._refuse_unscoped()
        super()._fetch_all()

    def iterator(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_unscoped()
        return super().iterator(*args, **kwargs)

    def count(self) -> int:
        if self._result_cache is None:
            self._refuse_unscoped()
        return super().count()

    def exists(self) -> bool:
        if self._result_cache is None:
            self._refuse_unscoped()
        return super().exists()

    def aggregate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self._refuse_unscoped()
        return super().aggregate(*args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        self._refuse_unscoped()
        return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._refuse_unscoped()
        return super().delete()
