"""Planners that can try other plans than the best one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Explorer(ABC):
    """A planner that can try plans near the best one."""

    __slots__ = ()

    @abstractmethod
    def exploring(self, seed: str) -> Self:
        """Return the planner that does so; `seed` decides which plan it tries."""
