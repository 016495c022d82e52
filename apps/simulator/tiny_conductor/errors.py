"""Errors of the tiny conductor."""

from __future__ import annotations

from apps.simulator.problems import Problem


class WeightsInvalid(ValueError):
    """The file or folder holds no model that can be run here."""


class RequestRefused(Exception):
    """The model cannot answer such a request."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem
