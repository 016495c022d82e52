"""The REST surface under `/api/v1`, and nothing else."""
