"""The demo: its team, pool, trained planner and evaluation, made at each start."""
