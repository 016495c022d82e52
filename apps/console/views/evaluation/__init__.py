"""Pages of evaluations, tests of candidates, suites, and learning."""
