"""`POST /v1/embeddings`: texts in, vectors out, through an embedding worker."""
