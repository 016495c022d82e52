"""Comparisons over REST: what they say, and starting, voting and judging."""
