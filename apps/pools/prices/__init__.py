"""List prices of providers, and the floor under prices that keys set."""
