"""Suites: what a task is, how files of tasks are read, how versions are stored."""
