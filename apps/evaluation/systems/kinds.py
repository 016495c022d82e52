"""All kinds of systems, as the settings of an evaluation name them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from apps.evaluation.systems.mixture_of_agents import MixtureOfAgentsSystem
from apps.evaluation.systems.nearest_neighbors import NearestNeighborsSystem
from apps.evaluation.systems.random_plan import RandomPlanSystem
from apps.evaluation.systems.self_reflection import SelfReflectionSystem
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.evaluation.systems.tier import TierSystem
from apps.evaluation.systems.worker_per_family import WorkerPerFamilySystem

System = Annotated[
    TierSystem
    | WorkerSystem
    | SelfReflectionSystem
    | MixtureOfAgentsSystem
    | RandomPlanSystem
    | WorkerPerFamilySystem
    | NearestNeighborsSystem,
    Field(discriminator="kind"),
]
