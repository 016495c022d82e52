"""Settings, addresses, and the web and worker processes."""
