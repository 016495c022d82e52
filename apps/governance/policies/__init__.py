"""Policies: rules that a run must pass before anything leaves, and at each step."""
