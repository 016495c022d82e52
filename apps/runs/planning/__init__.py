"""Decided before a run starts: its model, limits, restrictions and estimated cost."""
