"""What a run will be: its model, its limits and what it may cost, before it starts."""
