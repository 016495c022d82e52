"""The pages of alerts and their rules, and the bell of the header."""
