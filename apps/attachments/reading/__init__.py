"""Reads the text of documents in a process of its own, under limits."""
