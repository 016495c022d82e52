"""Tokens and cost by day, model and person: reports, and the tables they read."""
