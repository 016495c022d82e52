"""Examples of what the REST API tells of insights."""

from __future__ import annotations

from typing import Any

_DAYS: dict[str, Any] = {
    "since": "2026-10-23",
    "until": "2026-11-21",
    "with_tests": False,
    "is_complete": True,
}
_FIGURES: dict[str, Any] = {
    "key": "ultra",
    "label": "Ultra",
    "runs": 120,
    "failed": 2,
    "prompt_tokens": 102400,
    "completion_tokens": 40960,
    "cost_usd": "0.6123",
    "has_unknown_cost": False,
    "cost_each_usd": {"p50": "0.0045", "p95": "0.0131"},
    "latency_ms": {"p50": 4120, "p95": 11650},
    "first_token_ms": {"p50": 2180, "p95": 5190},
}
_RUN = "019a9b1e-7c7d-7d6e-9c55-3f2f0f6d9a11"
QUERIES: dict[str, Any] = {
    **_DAYS,
    "group": "tier",
    "rows": [_FIGURES],
    "total": {**_FIGURES, "key": "", "label": "All"},
    "before": {**_FIGURES, "key": "", "label": "Before", "runs": 98},
    "anomalies": [
        {
            "day": "2026-11-20",
            "measure": "cost",
            "value": 15100.0,
            "usual": 4600.0,
            "score": 7.2,
            "days": 28,
        }
    ],
    "audit": {
        "baseline": {
            "worker": "claude-sonnet-4",
            "runs": 118,
            "tokens": 61200,
            "cost_usd": "0.4481",
            "used_tokens": 141000,
            "used_cost_usd": "0.6010",
            "token_ratio": 2.304,  # nosec B105
            "cost_ratio": 1.341,
        },
        "evaluation": {
            "id": "019a9b1e-7c7d-7d6e-9c55-3f2f0f6d9a12",
            "name": "support",
            "pairs": 400,
            "first": {
                "name": "ultra",
                "cost_micros": 5200.0,
                "tokens": 1180.0,
                "right": 0.91,
            },
            "second": {
                "name": "claude-sonnet-4",
                "cost_micros": 4000.0,
                "tokens": 520.0,
                "right": 0.86,
            },
            "has_unknown_cost": False,
            "token_ratio": 2.27,  # nosec B105
            "cost_ratio": 1.3,
        },
        "shadow_test": None,
    },
}
_FAULT: dict[str, Any] = {
    "stage": "step",
    "fault": "rate_limited",
    "worker": "gpt-5",
    "count": 7,
    "count_before": 3,
    "runs": 5,
    "failed_runs": 0,
    "cost_usd": "0.00",
    "rescues": {"substitute": 5, "retry": 2},
    "example_runs": [_RUN],
}
FAILURES: dict[str, Any] = {
    **_DAYS,
    "runs": 120,
    "faults": [_FAULT],
    "loops": [
        {
            **_FAULT,
            "stage": "loop",
            "fault": "repeated_subtask",
            "count": 1,
            "count_before": 0,
            "runs": 1,
            "cost_usd": "0.0012",
            "rescues": {"none": 1},
        }
    ],
}
PLANS: dict[str, Any] = {
    **_DAYS,
    "runs": 120,
    "plans": [
        {
            "shape": "5f0c2d8a91b3e647",
            "graph": "2 → 1",
            "access": [[], [], [0, 1]],
            "steps": 3,
            "runs": 84,
            "completed": 83,
            "failed": 1,
            "tokens": 98000,
            "cost_usd": "0.4410",
            "has_unknown_cost": False,
            "latency_ms": {"p50": 4490, "p95": 11650},
            "liked": 9,
            "disliked": 1,
            "passed": 4,
            "not_passed": 0,
            "example_runs": [_RUN],
        }
    ],
}
