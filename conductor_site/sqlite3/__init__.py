"""SQLite, with UUIDs of 16 bytes."""
