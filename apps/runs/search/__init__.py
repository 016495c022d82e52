"""Full-text search over prompts and answers, by a keyed index of their words."""
