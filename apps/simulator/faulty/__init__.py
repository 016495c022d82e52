"""The ways in which models go wrong, by what a caller sees of it."""
