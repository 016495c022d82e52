"""Runs at work in this process: from an order to its end on record."""
