"""Coordination of processes: leases, fencing, cancel requests, notices of work."""
