"""Shape of what people send from a team's own pages, by topic."""
