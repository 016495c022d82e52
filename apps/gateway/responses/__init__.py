"""The OpenAI Responses API: items in, one run, items out, whole or as typed events."""
