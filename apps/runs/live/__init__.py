"""Runs as they happen, for those who watch: feeds over websockets."""
