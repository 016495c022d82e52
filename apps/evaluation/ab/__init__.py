"""A/B tests: a candidate answers the callers of a share of a tier's API keys.

Which keys is decided by their ids; what a run was part of stands in its first entry.
"""
