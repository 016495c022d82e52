"""Suites, evaluations, tests of candidates and learning over REST."""
