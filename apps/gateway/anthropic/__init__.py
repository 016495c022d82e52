"""Anthropic's messages protocol: blocks in, one run, blocks out, whole or streamed."""
