"""Promotions: a tier becomes the candidate of a test, and what it was before."""
