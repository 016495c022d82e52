"""Use cases: for each a world of tasks, workers with hidden skills, and a conductor.

They are what `docs/examples` shows. Workers answer as those of the simulated benchmark
do: they work out a task from its text, as well as their skills in its family allow.
"""
