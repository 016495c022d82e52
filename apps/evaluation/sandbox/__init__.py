"""Runs code of models under limits, in namespaces of its own, without a network."""
