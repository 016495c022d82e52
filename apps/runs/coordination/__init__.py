"""How processes share runs: leases, fences, requests to cancel, notices of work."""
