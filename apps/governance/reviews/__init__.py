"""The review queue: what feeds it, what is in it, who judges it."""
