"""How evaluations, tests of candidates and profiles look on the pages of a team."""
