"""Vectors of prompts, which embedding workers make for planners."""
