"""What operators see of runs: counters and traces."""
