"""The pages, by topic. Parse, check access, ask a service or selector, answer."""
