"""The simulated workers: skill, speed and price. The demo's pool is made from this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apps.simulator.families.solution import Family


@dataclass(frozen=True, slots=True)
class SimulatedWorker:
    """One worker model."""

    name: str
    description: str
    tokens_per_s: float
    first_token_ms: int
    input_micros: int
    """Price of a million input tokens, in micro-dollars."""
    output_micros: int
    """Price of a million output tokens, in micro-dollars."""
    reliability: Mapping[Family, float]
    """How often it is right, from 0 to 1."""


def _skills(others: float, **known: float) -> dict[Family, float]:
    return {family: known.get(family.value, others) for family in Family}


WORKERS: tuple[SimulatedWorker, ...] = (
    SimulatedWorker(
        name="sim-atlas",
        description="Strong all-rounder; slow and expensive. For planning and review.",
        tokens_per_s=60,
        first_token_ms=600,
        input_micros=3_000_000,
        output_micros=15_000_000,
        reliability=_skills(0.98),
    ),
    SimulatedWorker(
        name="sim-birch",
        description="Mathematics: careful with calculations, units and dates.",
        tokens_per_s=90,
        first_token_ms=350,
        input_micros=800_000,
        output_micros=3_200_000,
        reliability=_skills(
            0.85, arithmetic=0.97, dates=0.96, units=0.97, stories=0.97, tracing=0.97
        ),
    ),
    SimulatedWorker(
        name="sim-cedar",
        description="Code: writes and checks small Python programs.",
        tokens_per_s=110,
        first_token_ms=300,
        input_micros=1_000_000,
        output_micros=4_000_000,
        reliability=_skills(0.85, code=0.97, text=0.93),
    ),
    SimulatedWorker(
        name="sim-delta",
        description="General use: fast and cheap, right most of the time.",
        tokens_per_s=220,
        first_token_ms=120,
        input_micros=150_000,
        output_micros=600_000,
        reliability=_skills(0.9),
    ),
    SimulatedWorker(
        name="sim-ember",
        description="Facts: recalls capitals, symbols, planets and other knowledge.",
        tokens_per_s=140,
        first_token_ms=200,
        input_micros=400_000,
        output_micros=1_600_000,
        reliability=_skills(0.86, facts=0.99),
    ),
    SimulatedWorker(
        name="sim-flint",
        description="Text: a small model for words, formatting and short answers.",
        tokens_per_s=300,
        first_token_ms=80,
        input_micros=50_000,
        output_micros=200_000,
        reliability=_skills(0.8, text=0.96),
    ),
)
BY_NAME: Mapping[str, SimulatedWorker] = {worker.name: worker for worker in WORKERS}
