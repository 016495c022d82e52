"""The light planner: a model of single steps, fitted on logged runs, and a search."""
