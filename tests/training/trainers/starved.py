"""A trainer without enough memory."""

raise MemoryError("no room for: Compute 17 * 7 for Falcon.")
