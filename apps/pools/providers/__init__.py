"""Well-known providers, and the addresses of clouds."""
