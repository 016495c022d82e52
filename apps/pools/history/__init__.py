"""The versions of a pool: how they are kept, used again and restored."""
