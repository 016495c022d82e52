"""Management commands, and policies as files."""
