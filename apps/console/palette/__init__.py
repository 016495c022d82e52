"""The palette: one search over pages, runs, models, people and documentation."""
