"""All kinds of systems, as the settings of an evaluation name them.

This is the only list of them: the command line, the page and the checks go through it.
"""

from __future__ import annotations

from typing import Annotated, get_args

from pydantic import Field

from apps.evaluation.systems.base import BaseSystem
from apps.evaluation.systems.cascade import CascadeSystem
from apps.evaluation.systems.delegated import DelegatedSystem
from apps.evaluation.systems.exploration import ExplorationSystem
from apps.evaluation.systems.given_plans import GivenPlansSystem
from apps.evaluation.systems.light_planner import LightPlannerSystem
from apps.evaluation.systems.mixture_of_agents import MixtureOfAgentsSystem
from apps.evaluation.systems.nearest_neighbors import NearestNeighborsSystem
from apps.evaluation.systems.probe import ProbeSystem
from apps.evaluation.systems.random_plan import RandomPlanSystem
from apps.evaluation.systems.samples import SamplesSystem
from apps.evaluation.systems.self_reflection import SelfReflectionSystem
from apps.evaluation.systems.single_worker import WorkerSystem
from apps.evaluation.systems.smoothie import SmoothieSystem
from apps.evaluation.systems.tier import TierSystem
from apps.evaluation.systems.worker_per_family import WorkerPerFamilySystem

AnySystem = (
    TierSystem
    | WorkerSystem
    | SelfReflectionSystem
    | SamplesSystem
    | MixtureOfAgentsSystem
    | WorkerPerFamilySystem
    | NearestNeighborsSystem
    | SmoothieSystem
    | CascadeSystem
    | GivenPlansSystem
    | RandomPlanSystem
    | ExplorationSystem
    | ProbeSystem
    | LightPlannerSystem
    | DelegatedSystem
)
KINDS: tuple[type[BaseSystem], ...] = get_args(AnySystem)
System = Annotated[AnySystem, Field(discriminator="kind")]
