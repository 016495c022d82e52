"""Runs as they are stored: read from the ledger, kept in rows, checked against it."""
