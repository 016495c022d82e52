"""Suites, evaluations and tests of candidates over REST."""
