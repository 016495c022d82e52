"""Promises of the threat model, checked over the whole surface at once."""
