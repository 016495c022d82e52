"""Sandboxes: runs code of models under limits, in namespaces, without a network."""
