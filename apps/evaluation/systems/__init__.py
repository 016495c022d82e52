"""What evaluations compare, one kind of system in each module. Pure.

A system says how a task becomes a run: by which model name, planner and restrictions;
how people name it, and what it has to learn from earlier evaluations. To add one, write
its module and name its class in `kinds.py`; CONTRIBUTING.md has the way.
"""
