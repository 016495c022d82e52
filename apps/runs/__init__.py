"""Runs: accept a prompt, execute it, record it, show it, stop it."""
