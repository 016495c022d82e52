"""The OpenAI-compatible surface under `/v1`, and nothing else."""
