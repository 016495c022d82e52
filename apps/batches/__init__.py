"""Files and batches of requests: what is kept of them and how it changes."""
