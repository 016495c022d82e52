"""One module per kind of thing: what comes in, what goes out, the operations."""
