"""The list of runs: its filters and its pages."""
