"""Planners: who does what. The language model's prompt and parser, and fixed plans.

Pure: knows the engine and nothing of Django, networks or databases.
"""
