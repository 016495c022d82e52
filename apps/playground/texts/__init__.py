"""Texts of models as HTML: formatted, with formulas, and while they are written."""
