"""`/v1/files` and `/v1/batches`: many requests in one file, made in the background."""
