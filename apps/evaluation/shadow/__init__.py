"""Shadow tests: a share of a tier's runs, repeated by a candidate, and its promotion.

Callers notice nothing: a mirrored run begins when the original has ended.
"""
