"""Time to check a policy of 50 rules: before a run, and for its plan."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any

from apps.core.input_parts import values_read
from apps.governance.policies.evaluation import PlanFacts, RunFacts, evaluate
from apps.governance.policies.rules import PolicyDocument
from bench.figures import alternate, keep

RULES, ROUNDS, TIMES = 50, 9, 40
SIZES = (500, 8_000, 100_000)
"""Characters of the prompt."""
PLAN = PlanFacts(("w1", "w2", "w3", "w4", "w5"), 1_000)
TAGS = {f"w{number}": frozenset({"eu"}) for number in range(8)}
NIGHT = {"begin": "22:00", "end": "06:00", "time_zone": "Europe/Berlin"}


def policy() -> PolicyDocument:
    """Return rules of every kind, none of which ends the check."""
    conditions: list[dict[str, Any]] = [
        {"words": ["Project Falcon", "falcon budget"]},
        {"steps_over": 9},
        {"tiers": ["mini"], "roles": ["admin"]},
        {"cost_over_usd": "9"},
        {"hours": NIGHT},
        {"plan_tags": ["us"]},
        {"expression": "tier == 'ultra' && plan.workers.exists(w, 'us' in tags[w])"},
        {"expression": "prompt_characters > 1000000 || source == 'playground'"},
    ]
    effects: list[dict[str, Any]] = [
        {"kind": "deny"},
        {"kind": "only_workers", "tags": ["eu"]},
        {"kind": "limit", "max_steps": 4},
    ]
    pairs = zip(cycle(conditions), cycle(effects), strict=False)
    rules = [
        {"name": f"Rule {number}", "conditions": when, "effect": then}
        for number, (when, then) in enumerate(islice(pairs, RULES))
    ]
    return values_read(PolicyDocument, {"rules": rules})


def facts(size: int) -> RunFacts:
    """Return a run whose prompt has this many characters."""
    words = cycle(("alpha ", "beta ", "gamma ", "delta "))
    prompt = "".join(islice(words, size // 5))[:size]
    return RunFacts("member", None, None, "ultra", "api", (prompt,), TAGS)


def micros(work: Callable[[], object]) -> float:
    """Return the time of `work` in microseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e6


def measure(size: str) -> dict[str, float]:
    """Return the mean times of checks before a run, and for its plan, in µs."""
    document, now = policy(), datetime.now(UTC)
    before = plan = 0.0
    for _ in range(TIMES):
        run = facts(int(size))
        before += micros(lambda run=run: evaluate(document, run, None, now))
        plan += micros(lambda run=run: evaluate(document, run, PLAN, now))
    return {"run_us": before / TIMES, "plan_us": plan / TIMES}


def main() -> None:
    """Measure, and keep the figures."""
    sizes = alternate(map(str, SIZES), measure, ROUNDS)
    keep("policy", {"rules": RULES, "rounds": ROUNDS, "sizes": sizes})


if __name__ == "__main__":
    main()
