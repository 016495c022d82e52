"""A trainer that ends with words of its own."""

raise SystemExit("The prompt was: Compute 17 * 7 for Falcon.")
