"""OpenAI's chat completions: one conversation in, one run, one answer out."""
