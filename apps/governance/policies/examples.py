"""Rules to begin with. All are off until somebody switches them on."""

from __future__ import annotations

from typing import Any

EXAMPLES: list[dict[str, Any]] = [
    {
        "name": "Customer data stays in the EU",
        "mode": "off",
        "conditions": {"data_class": "confidential"},
        "effect": {"kind": "only_workers", "tags": ["eu", "on-premises"]},
    },
    {
        "name": "No credentials in prompts",
        "mode": "off",
        "conditions": {"contains": ["secret"]},
        "effect": {"kind": "deny"},
    },
    {
        "name": "Expensive plans of programs",
        "mode": "off",
        "conditions": {"roles": ["api_key"], "cost_over_usd": "1"},
        "effect": {"kind": "deny"},
    },
    {
        "name": "Models see no account numbers",
        "mode": "off",
        "effect": {"kind": "redact", "kinds": ["iban", "card"]},
    },
    {
        "name": "Contracts need a second pair of eyes",
        "mode": "off",
        "conditions": {"words": ["contract", "non-disclosure agreement"]},
        "effect": {"kind": "require_approval", "hours": 72},
    },
    {
        "name": "Short plans at night",
        "mode": "off",
        "conditions": {"hours": {"begin": "22:00", "end": "06:00"}},
        "effect": {"kind": "limit", "max_steps": 2, "max_cost_usd": "0.1"},
    },
]
