"""What teams, people, keys and runs may spend, and how fast they may ask."""
