"""Pools of models: workers, conductors, their credentials, prices and tiers."""
