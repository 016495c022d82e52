"""`POST /v1/completions`, the legacy form of one prompt, which editors still use."""
