"""The simulated benchmark: tasks with known answers, and workers with hidden skills.

Everything is made by rules and pinned seeds, so the expected score of a plan is known
exactly. What a worker knows of a task it reads from the text that it is sent.
"""
