"""Budgets and rate limits of teams, members and keys."""
