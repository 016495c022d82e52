"""Background work of a process, and how it gives way to requests."""
