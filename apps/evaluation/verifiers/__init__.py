"""Verifiers: each says whether an answer is right, from the answer alone."""
