"""Presets over REST: what they say, their versions, and runs that use them."""
