"""Sensitive data in prompts: what is found, how it is classed, how it is replaced."""
