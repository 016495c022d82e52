"""All use cases, and the simulated models that belong to them."""

from __future__ import annotations

from collections.abc import Mapping

from apps.simulator.benchmark.workers import BenchWorker
from apps.simulator.cases.coding import CODING
from apps.simulator.cases.finance import FINANCE
from apps.simulator.cases.knowledge import KNOWLEDGE
from apps.simulator.cases.research import RESEARCH
from apps.simulator.cases.support import SUPPORT
from apps.simulator.cases.use_case import UseCase

CASES: Mapping[str, UseCase] = {
    case.name: case for case in (CODING, SUPPORT, RESEARCH, FINANCE, KNOWLEDGE)
}
CASE_WORKERS: Mapping[str, BenchWorker] = {
    worker.name: worker for case in CASES.values() for worker in case.workers
}
CASE_CONDUCTORS: Mapping[str, UseCase] = {
    f"{case.name}-conductor": case for case in CASES.values()
}
"""By the name of the model."""
