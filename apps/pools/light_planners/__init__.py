"""Light planners of pools: the versions that are kept, and those in memory."""
