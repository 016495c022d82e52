"""Trials of draft policies on recorded runs, in the background."""
