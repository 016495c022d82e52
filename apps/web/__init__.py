"""Shared by all pages: access, layout, error pages, formats."""
