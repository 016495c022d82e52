"""Presets: prompt templates with variables and settings, in versions."""
