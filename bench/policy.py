"""Time to check a policy of 50 rules: before a run, and for its plan.

Also what it takes to search a prompt for sensitive data, which is done once a run, and
the whole gate before a run: with these rules, and for a team without any.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any

from apps.core.input_parts import values_read
from apps.governance.policies.evaluation import PlanFacts, RunFacts, evaluate
from apps.governance.policies.rules import PolicyDocument
from apps.governance.sensitive_data.classification import Classification, classify
from bench.figures import alternate, keep

RULES, ROUNDS, TIMES = 50, 9, 40
SIZES = (500, 8_000, 100_000)
"""Characters of the prompt."""
PLAN = PlanFacts(("w1", "w2", "w3", "w4", "w5"), 1_000)
TAGS = {f"w{number}": frozenset({"eu"}) for number in range(8)}
PATTERNS = [
    {"name": "customer_number", "pattern": r"\bK-\d{6}\b"},
    {"name": "case_file", "pattern": r"(?i)\bcase\s+[A-Z]{2}/\d{4}/\d+\b"},
    {"name": "part", "pattern": r"\b[A-Z]{3}-\d{2}-[0-9A-F]{8}\b"},
]
SENSITIVE = " DE89 3704 0044 0532 0130 00, K-123456, ann@example.org"
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
        {"data_class": "restricted"},
        {"contains": ["iban", "customer_number"]},
        {"expression": "counts.iban > 3 && data_class == 'confidential'"},
    ]
    effects: list[dict[str, Any]] = [
        {"kind": "deny"},
        {"kind": "only_workers", "tags": ["eu"]},
        {"kind": "limit", "max_steps": 4},
        {"kind": "redact", "kinds": ["iban", "customer_number"]},
    ]
    pairs = zip(cycle(conditions), cycle(effects), strict=False)
    rules = [
        {"name": f"Rule {number}", "conditions": when, "effect": then}
        for number, (when, then) in enumerate(islice(pairs, RULES))
    ]
    return values_read(PolicyDocument, {"rules": rules, "patterns": PATTERNS})


def prompt_of(size: int) -> str:
    """Return a prompt of this many characters that ends with sensitive data."""
    words = cycle(("alpha ", "beta ", "gamma ", "delta "))
    return "".join(islice(words, size // 5))[: size - len(SENSITIVE)] + SENSITIVE


def facts(prompt: str, document: PolicyDocument, found: Classification) -> RunFacts:
    """Return what is known of a run with this prompt."""
    start = RunFacts("member", None, None, "ultra", "api", (prompt,), TAGS)
    return replace(start, classification=found, kinds=document.kinds)


def micros(work: Callable[[], object]) -> float:
    """Return the time of `work` in microseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e6


def measure(size: str) -> dict[str, float]:
    """Return mean times in µs.

    Of checks before a run and for its plan, of the search in its prompt, and of the
    whole gate before the run, with the rules and without any.
    """
    from bench.policy_gate import gate_micros

    document, now, prompt = policy(), datetime.now(UTC), prompt_of(int(size))
    found = classify((prompt,), (), document.patterns)
    assert found.findings == {"iban": 1, "customer_number": 1, "email": 1}
    sums = dict.fromkeys(("run_us", "plan_us", "search_us", "gate_us", "free_us"), 0.0)
    for _ in range(TIMES):
        run = facts(prompt, document, found)
        sums["run_us"] += micros(lambda run=run: evaluate(document, run, None, now))
        sums["plan_us"] += micros(lambda run=run: evaluate(document, run, PLAN, now))
        sums["search_us"] += micros(lambda: classify((prompt,), (), document.patterns))
        sums["gate_us"] += gate_micros(document, prompt)
        sums["free_us"] += gate_micros(PolicyDocument(), prompt)
    return {name: total / TIMES for name, total in sums.items()}


def main() -> None:
    """Measure, and keep the figures."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "conductor_site.settings")
    import django

    django.setup()
    sizes = alternate(map(str, SIZES), measure, ROUNDS)
    keep("policy", {"rules": RULES, "rounds": ROUNDS, "sizes": sizes})


if __name__ == "__main__":
    main()
