"""The HTTP server: protocol, turns of teams, page threads, drain."""
