"""Counters and traces of runs, for operators."""
