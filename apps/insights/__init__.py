"""Insights: cost and latency of queries, faults and plans of a team, from rollups."""
