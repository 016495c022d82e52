"""Suites of tasks, evaluations of systems on them, and their reports."""
