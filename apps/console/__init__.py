"""The pages on which a team runs itself: people, keys, pools, budgets, usage."""
