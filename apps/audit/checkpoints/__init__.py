"""Signed checkpoints: their format, making, export and verification."""
