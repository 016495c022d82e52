"""A trainer that lacks a package."""

raise ModuleNotFoundError("No module named 'falcon'")
