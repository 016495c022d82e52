"""Learning to conduct: learning data, fits of planners, and their gate."""
