"""Comparisons on pages: candidates, columns, differences, votes."""
